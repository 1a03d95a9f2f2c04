"""The phrasebook's words: plain tables, and the French forms they take.

Each English word has one French word, which then agrees (petit, petite,
petits, petites) and yields to the sound that follows (vieux, vieil; le, l').
The tables give only what the rules of `_plural` and `_forms` do not.
"""

# kind (person child role animal thing location union) and gender: English
# and French, with the plural after a hyphen where it is not + s
NOUNS = {
    "p m": "man-men homme",
    "p f": "woman-women femme",
    "c m": "boy garçon, child-children enfant",
    "c f": "girl fille",
    "r m": "king roi, doctor médecin",
    "r f": "queen reine, nurse infirmière",
    "a m": "dog chien, bird oiseau-oiseaux, horse cheval-chevaux, "
    "hedgehog hérisson",
    "a f": "goose-geese oie",
    "t m": "book livre, tree arbre, hat chapeau-chapeaux",
    "t f": "car voiture, letter lettre, apple pomme, picture image",
    "l m": "garden jardin, hotel hôtel, museum musée",
    "l f": "church-churches église, school école, station gare",
    "u m": "council conseil, agreement accord",
    "u f": "area zone, union union",
}
# class (before stands in front of the French noun, only follows "is") and the
# kinds of noun it goes with: English French, then, where the rule (+ e, + s)
# fails, the feminine, the masculine plural, the masculine before a vowel
ADJECTIVES = {
    "before pcratlu": "small petit",
    "before pratlu": "old vieux-vieille-vieux-vieil",
    "before pcratl": "beautiful beau-belle-beaux-bel",
    "before pcra": "young jeune",
    "before atlu": "big grand",
    "before tlu": "new nouveau-nouvelle-nouveaux-nouvel",
    "before rlu": "former ancien-ancienne",
    "colour atl": "black noir, white blanc-blanche",
    "colour tl": "red rouge, green vert",
    "nation pcratlu": "french français, italian italien-italienne, "
    "european européen-européenne",
    "domain u": "economic économique, political politique, "
    "social social-sociale-sociaux",
    "only pcra": "happy heureux-heureuse, tired fatigué",
}
DETERMINERS = {
    False: "the le la, a un une, this ce cette, his son sa, her son sa",
    True: "the les, some des, these ces, two deux, three trois, "
    "his ses, her ses",
}
# kinds of subject, kinds of object ("-" none, "+" a clause); English
# plain, with -s, past; French singular, plural, auxiliary and participle
VERBS = """
pcra - sleep sleeps slept dort dorment a dormi
pcra - run runs ran court courent a couru
pcra - wait waits waited attend attendent a attendu
pcru - work works worked travaille travaillent a travaillé
u - change changes changed change changent a changé
pcra - arrive arrives arrived arrive arrivent est arrivé
pcrat - fall falls fell tombe tombent est tombé
pcra pcratl see sees saw voit voient a vu
pcr ta buy buys bought achète achètent a acheté
pcr ta sell sells sold vend vendent a vendu
pcr pcratl love loves loved aime aiment a aimé
pcra pcratl look_at looks_at looked_at regarde regardent a regardé
pcra pcrat look_for looks_for looked_for cherche cherchent a cherché
pcru pcratlu protect protects protected protège protègent a protégé
pcru pcrau help helps helped aide aident a aidé
pcru + say says - dit disent a -
pcr + think thinks - pense pensent a -
"""
# French word / index of its English word; with the past, the present, or both
TIMES = {
    "any": "in_april en/0 avril/1, in_august en/0 août/1, "
    "in_winter en/0 hiver/1, in_summer en/0 été/1",
    "now": "now maintenant/0, every_day chaque/0 jour/1, "
    "every_morning chaque/0 matin/1",
    "past": "yesterday hier/0, on_monday lundi/01, "
    "last_week la/0 semaine/1 dernière/0",
}
PLACES = "in dans, at à, near près_de, behind derrière, in_front_of devant"
LINKS = "and et, but mais, because parce_que, when quand, while pendant_que"
PLURAL = {"a": "ont", "est": "sont", "était": "étaient"}
ELISION = {"le": "l'", "la": "l'", "de": "d'", "que": "qu'", "ne": "n'"}
ELISION |= {"ce": "cet", "sa": "son"}
ENDS = ("e", "s", "es")  # of a participle that agrees
CONTRACTION = {("de", "le"): "du", ("de", "les"): "des"}
CONTRACTION |= {("à", "le"): "au", ("à", "les"): "aux"}


def _entries(text: str) -> list[list[str]]:
    rows = [row.split() for row in text.split(",")]
    return [[word.replace("_", " ") for word in row] for row in rows]


def _plural(word: str) -> tuple[str, str]:
    one, hyphen, many = word.partition("-")
    return one, many if hyphen else one + "s"


def _forms(word: str) -> tuple[str, ...]:
    """Masculine, feminine, their plurals, masculine before a vowel."""
    he, *rest = word.split("-")
    she = rest[0] if rest else he.removesuffix("e") + "e"
    they = rest[1] if rest[1:] else he + "s" * (he[-1] not in "sx")
    return he, she, they, she + "s", rest[2] if rest[2:] else he


NOUN = {
    _plural(english)[0]: (*key.split(), _plural(english), _plural(french))
    for key, text in NOUNS.items()
    for english, french in _entries(text)
}
ADJECTIVE = {
    english: (*key.split(), _forms(french))
    for key, text in ADJECTIVES.items()
    for english, french in _entries(text)
}
DETERMINER = {
    plural: {row[0]: (row[1], row[-1]) for row in _entries(text)}
    for plural, text in DETERMINERS.items()
}
VERB = {
    row[2].replace("_", " "): [word.replace("_", " ") for word in row]
    for row in map(str.split, VERBS.strip().splitlines())
}
TIME = {
    row[0]: (tense, row[1:])
    for tense, text in TIMES.items()
    for row in _entries(text)
}
PLACE, LINK = dict(_entries(PLACES)), dict(_entries(LINKS))


def vowel(word: str) -> bool:
    """Whether it begins with a vowel or a mute h (hérisson's h is not)."""
    return word[:1] in set("aeéhiou") and not word.startswith("hérisson")


def agree(adjective: str, feminine: bool, plural: bool, sound="") -> str:
    """The adjective's French form, given the word that follows, if any."""
    forms = ADJECTIVE[adjective][2]
    if vowel(sound) and not feminine and not plural:
        return forms[4]
    return forms[2 * plural + feminine]


def words() -> tuple[list[str], list[str]]:
    """All the source words and all the target words, each list sorted."""
    english = "an is are was were do does did not often who that he she it "
    english += "they there of 's ' , . " + " ".join(
        [*ADJECTIVE, *DETERMINER[False], *DETERMINER[True]]
        + [*TIME, *PLACE, *LINK]
        + [form for noun in NOUN.values() for form in noun[2]]
        + [form for verb in VERB.values() for form in verb[2:5]]
    )
    french = "de que qui ne pas souvent il elle ils elles y avait , . "
    french += " ".join(
        [form for noun in NOUN.values() for form in noun[3]]
        + [form for adjective in ADJECTIVE.values() for form in adjective[2]]
        + [
            w
            for rows in DETERMINER.values()
            for row in rows.values()
            for w in row
        ]
        + [form for verb in VERB.values() for form in verb[5:]]
        + [
            verb[8] + e
            for verb in VERB.values()
            if verb[7] == "est"
            for e in ENDS
        ]
        + [item.split("/")[0] for row in TIME.values() for item in row[1]]
        + [*PLACE.values(), *LINK.values(), *PLURAL, *PLURAL.values()]
        + [*ELISION.values(), *CONTRACTION.values()]
    )
    return tuple(sorted({*text.split()} - {"-"}) for text in (english, french))
