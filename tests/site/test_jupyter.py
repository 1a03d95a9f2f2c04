"""A notebook in JupyterLab and in Notebook, as a reader uses it there."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from playwright.sync_api import Page, expect

from watching import PATIENCE

pytestmark = pytest.mark.nightly

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
FOREIGN = re.compile(r"^(?:https?|wss?)://(?!127\.0\.0\.1)")
NUMBERED = re.compile(r"\[\d+\]:")
CELL = """\
from lookback.widgets import SoftmaxStepper

stepper = next(w for w in Out.values() if isinstance(w, SoftmaxStepper))
print("it was at", stepper.step)
stepper.step = 4
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory, root):
    """A Jupyter server with a home of its own: its address, its folder."""
    home = tmp_path_factory.mktemp("jupyter")
    notebooks = home / "notebooks"
    notebooks.mkdir()
    saving = home / "settings" / "@jupyter-widgets" / "jupyterlab-manager"
    saving.mkdir(parents=True)  # as in `make lab`
    (saving / "plugin.jupyterlab-settings").write_text('{"saveState": true}')
    own = {
        "HOME": "home",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    env = os.environ | {name: str(home / own[name]) for name in own}
    env.pop("MPLBACKEND", None)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", "--port=0", "--IdentityProvider.token="),
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        f"--ServerApp.root_dir={notebooks}",
    ]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            env=env | {"PYTHONPATH": str(root / "src")},
            stdout=log,
            stderr=log,
        )
    try:
        yield running(process, home), notebooks
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()


def running(process, home) -> str:
    """The address, once the server has written it down."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        for path in home.glob("runtime/jpserver-*.json"):
            text = path.read_text()
            if text.rstrip().endswith("}"):
                return json.loads(text)["url"]
        time.sleep(0.05)
    raise AssertionError((home / "log").read_text()[-4000:])


def opened(page: Page, address: str) -> tuple:
    """The stepper of a notebook that is open, and what it says."""
    page.goto(address)
    page.locator(".jp-Notebook").wait_for()
    stepper = page.locator('[data-widget="softmax-stepper"]')
    return stepper, stepper.locator('[data-role="live"]')


@pytest.mark.parametrize("path", ["lab/tree", "notebooks"])
def test_run_step_set_save_reopen(path, server, browser, root):
    address, folder = server
    name = f"{path.partition('/')[0]}.ipynb"
    shutil.copy(root / "notebooks" / "scores.ipynb", folder / name)
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    left = []
    context.on("request", lambda one: left.append(one.url))
    context.route(FOREIGN, lambda route: route.abort())
    page = context.new_page()
    stepper, says = opened(page, f"{address}{path}/{name}")

    picture = page.locator(".jp-MarkdownOutput img")
    assert picture.get_attribute("alt")
    picture.evaluate("(img) => img.decode()")  # fails where it cannot

    for item in ("Run", "Run All Cells"):
        page.get_by_role("menuitem", name=item, exact=True).click()
    last = page.locator(".jp-CodeCell .jp-InputPrompt").last
    expect(last).to_have_text(NUMBERED)

    cells = len(json.loads((folder / name).read_text("utf-8"))["cells"])
    expect(page.locator(".jp-Cell")).to_have_count(cells)  # they come in turn
    following = stepper.locator('[data-action="next"]')
    following.click()
    expect(says).to_contain_text("so the scores stay")
    following.press("b")  # which elsewhere inserts a cell
    following.press("ArrowRight")  # and this one folds a heading
    expect(says).to_contain_text("Then raise e to each")
    expect(page.locator(".jp-Cell")).to_have_count(cells)

    page.locator(".jp-MarkdownCell").last.click(position={"x": 3, "y": 3})
    for key in ("Escape", "b", "Enter"):
        page.keyboard.press(key)
    page.keyboard.insert_text(CELL)
    page.keyboard.press("Shift+Enter")
    printed = page.locator(".jp-OutputArea-output", has_text="it was at")
    expect(printed).to_have_text("it was at 2")
    expect(says).to_contain_text("the weights sum to 1")

    following.focus()
    with page.expect_response(lambda one: one.request.method == "PUT"):
        page.keyboard.press("Control+s")
    page.close()
    page = context.new_page()
    stepper, says = opened(page, f"{address}{path}/{name}")
    expect(says).to_contain_text("the weights sum to 1")
    assert not [*filter(FOREIGN.match, left)]
    context.close()

    saved = json.loads((folder / name).read_text("utf-8"))
    outputs = [o for cell in saved["cells"] for o in cell.get("outputs", [])]
    assert not [one for one in outputs if one["output_type"] == "error"]
    shown = [one["data"] for one in outputs if VIEW in one.get("data", {})]
    assert shown and all({"image/svg+xml", "text/plain"} <= {*d} for d in shown)
    models = saved["metadata"]["widgets"][STATE]["state"]
    states = [models[data[VIEW]["model_id"]]["state"] for data in shown]
    assert 4 in [state.get("step") for state in states]
