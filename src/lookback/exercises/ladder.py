"""The exercises of the chapter `ladder`, each check beside its solution."""
