"""The console in a real Chromium, at ten devices and at a million: what a person does with it.

Every test fails, whatever it looks at, if the page threw, wrote an error to the console, broke its
content policy or asked anybody but the server (see the fixture `page`)."""

import json
import re

import pytest

SIZES = [10, 1_000_000]


def number(n):
    return f"{n:,}"


@pytest.fixture(params=SIZES, ids=number)
def console(request, consoles):
    return consoles(request.param)


def shown(page):
    return page.texts("tbody th[scope=row] a")


def test_shows_the_figures_of_the_fleet(page, console):
    page.open(console.url)
    page.wait_text(".figures dd", number(console.count))
    assert page.js("document.title") == "Fleet · nl6"
    figures = dict(zip(page.texts(".figure dt"), page.texts(".figure dd")))
    assert figures["Devices"] == figures["Running"] == number(console.count)
    status = console.get("/api/v1/status")["data"]
    assert figures["Types in use"] == number(status["fleet"]["types"])
    assert figures["Interfaces"] == number(status["fleet"]["interfaces"])
    assert page.text("#link-state") == "Live"
    assert page.text("#version") == console.get("/api/v1/version")["version"]


def test_rates_follow_the_traffic(page, console):
    page.open(console.url)
    page.wait("document.querySelector('.rates dd span').innerText !== '–'")
    names = page.texts(".rates dt")
    assert names == ["SNMP requests", "Answers", "Malformed", "To unknown devices"]
    assert page.texts(".rates dd span") == ["0"] * 4
    with console.traffic():
        page.wait("[...document.querySelectorAll('.rates dd span')]"
                  ".every((e) => parseFloat(e.innerText) > 0)")
    page.wait("[...document.querySelectorAll('.rates dd span')].every((e) => e.innerText === '0')")
    assert page.js("document.querySelectorAll('.spark path[d]').length") == 8


def test_table_turns_its_pages(page, console):
    page.open(console.url)
    page.wait("document.querySelectorAll('tbody tr').length > 0")
    first = shown(page)
    size = min(50, console.count)
    assert first == console.addresses(size)
    page.wait_text("#place", f"1 to {size} of {number(console.count)} devices")
    if console.count == size:
        assert page.js("[...document.querySelectorAll('.pager button')].every((b) => b.disabled)")
        return
    page.click(".pager button:last-child")
    page.wait_text("#place", f"51 to 100 of {number(console.count)}")
    assert shown(page) == console.addresses(100)[50:]
    page.click(".pager button:last-child")
    page.wait_text("#place", "101 to 150")
    page.click(".pager button:nth-child(2)")
    page.wait_text("#place", "51 to 100")
    # The address tells the page: it survives a reload, and Back goes where one was.
    page.reload()
    page.wait_text("#place", "51 to 100")
    page.js("history.back()")
    page.wait_text("#place", "101 to 150")
    page.click(".pager button:first-child")
    page.wait_text("#place", "1 to 50")
    assert shown(page) == first
    asked = [url for method, url in page.requests if "/api/v1/devices?" in url]
    assert all("limit=50" in url for url in asked)


def test_table_is_searched_by_the_server(page, console):
    page.open(console.url)
    page.wait("document.querySelectorAll('tbody tr').length > 0")
    last = console.addresses(10)[-1]
    page.fill("input[type=search]", last)
    page.wait(f"document.querySelector('tbody th a')?.innerText === {json.dumps(last)}")
    page.fill("input[type=search]", "no such thing")
    page.wait_text("#devices", "No device matches")
    page.click("#devices .lone button")
    page.wait_text("#place", f"of {number(console.count)} devices")
    type_ = page.js("document.querySelector('tbody tr:nth-child(2) td:nth-child(3)').innerText")
    slug = console.get("/api/v1/devices?limit=2")["data"][1]["resource_file"]
    page.js(f"""(() => {{
        const select = document.querySelector('.tool-line select');
        select.value = {json.dumps(slug)};
        select.dispatchEvent(new Event('change'));
    }})()""")
    page.wait(f"location.hash.includes({json.dumps(slug.removesuffix('.json'))})")
    page.wait("!document.querySelector('.busy')")
    kinds = set(page.texts("tbody td:nth-child(3)"))
    assert kinds == {type_}
    assert shown(page)[0] == console.addresses(2)[1]


def test_device_page(page, console):
    page.open(console.url)
    page.click("tbody tr:nth-child(3) a")
    address = console.addresses(3)[2]
    page.wait_text("h1", address)
    page.wait(f"document.title === '{address} · nl6'")
    assert page.js("document.activeElement.tagName") == "H1"
    assert page.text("#walk") == f"snmpwalk -v2c -c public {address}:{console.snmp_port}"
    device = console.get(f"/api/v1/devices/{address}")["data"]
    facts = dict(zip(page.texts(".facts dt"), page.texts(".facts dd")))
    detail = device["detail"]
    assert facts["Name"] == detail["sys_name"]
    assert facts["Serial number"] == detail["serial"]
    assert facts["Id"] == device["id"]
    assert page.texts(".interfaces tbody th") == [p["name"] for p in detail["interfaces"]]
    # Octets move: two polls give a rate for whoever is up.
    page.wait(r"[...document.querySelectorAll('.interfaces td')].some((e) => "
              r"/^[1-9][\d.,]* .?bit\/s$/.test(e.innerText.trim()) && e.querySelector('.meter'))")
    before = page.texts(".interfaces td:last-child")
    page.wait(f"JSON.stringify([...document.querySelectorAll('.interfaces td:last-child')]"
              f".map((e) => e.innerText.trim())) !== {json.dumps(json.dumps(before))}")


def test_walk_line_is_copied(page, console):
    page.grant("clipboardReadWrite", "clipboardSanitizedWrite")
    page.open(f"{console.url}#/devices/{console.addresses(1)[0]}")
    page.click(".command button")
    page.wait_text("#say", "Copied")
    assert page.js("navigator.clipboard.readText()") == page.text("#walk")


def test_unknown_device(page, console):
    page.open(f"{console.url}#/devices/192.0.2.1")
    page.wait_text("main", "No such device")
    page.click("main a.button")
    page.wait_text("h1", "Fleet")
    assert page.failed == [(404, f"{console.base}/api/v1/devices/192.0.2.1")]
    page.failed.clear()


def open_form(page):
    page.click("#create")
    page.wait("document.querySelector('dialog[open] input')")


def field(key):
    return f"dialog input[name={key}]"


def test_create_shows_progress_and_the_new_devices(page, own_console):
    console = own_console(10)
    page.open(console.url)
    open_form(page)
    assert page.js("document.activeElement.labels[0].innerText") == "First address"
    # The port is that of the fleet that runs.
    assert page.js("document.querySelectorAll('dialog input')[3].value") == str(console.snmp_port)
    page.type(console.other_address)
    page.fill(field("device_count"), "300,000")
    page.click("dialog button.main")
    page.wait("document.querySelector('.job progress')")
    page.wait_text(".job", "Created 300,000 devices", 120)
    page.wait_text(".figures dd", "300,010")
    page.wait_text("#place", "of 300,010 devices")
    page.click(".job button")
    page.wait("document.querySelector('.jobs').hidden")
    assert page.js("document.activeElement.id") == "create"
    assert console.get("/api/v1/status")["data"]["total_devices"] == 300_010


def test_create_tells_at_the_field_what_is_wrong(page, own_console):
    console = own_console(10)
    page.open(console.url)
    open_form(page)
    wrong = [("start_ip", "not an address", console.other_address), ("device_count", "0", "5"),
             ("netmask", "99", "16"), ("snmp_port", "70000", str(console.snmp_port))]
    page.fill(field("start_ip"), console.other_address)
    for key, bad, good in wrong:
        page.fill(field(key), bad)
        page.press("Enter")
        page.wait(f"document.querySelector('{field(key)}').getAttribute('aria-invalid') === 'true'")
        told = page.js(f"""(() => {{
            const input = document.querySelector('{field(key)}');
            const ids = input.getAttribute("aria-describedby").split(" ");
            return [document.activeElement === input, document.getElementById(ids[0]).innerText];
        }})()""")
        assert told[0] and len(told[1]) > 5, told
        page.fill(field(key), good)
    page.press("Enter")
    page.wait_text(".job", "Created 5 devices")
    assert [status for status, _ in page.failed] == [400] * 4
    page.failed.clear()


def test_create_of_one_type_and_of_a_category(page, own_console):
    console = own_console(0)
    page.open(console.url)
    page.wait_text("#devices", "No devices yet")
    assert page.js("document.getElementById('delete-all').disabled")
    page.click("#devices .lone button")
    page.fill(field("start_ip"), console.other_address)
    page.fill(field("device_count"), "3")
    page.fill(field("snmp_port"), str(console.snmp_port))
    page.click("dialog input[value=one]")
    page.js("document.getElementById('one-type').value = 'juniper_mx240.json'")
    page.click("dialog button.main")
    page.wait_text(".job", "Created 3 devices")
    assert {d["resource_file"] for d in console.get("/api/v1/devices")["data"]} == {
        "juniper_mx240.json"}


def test_delete_one_asks_first(page, own_console):
    console = own_console(10)
    page.open(console.url)
    address = console.addresses(2)[1]
    button = f"button[aria-label='Delete {address}']"
    page.click(button)
    page.wait_text("dialog[open] h2", f"Delete {address}?")
    assert page.focused() == "Cancel"
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
    assert page.focused() == f"Delete {address}"
    assert console.get("/api/v1/status")["data"]["total_devices"] == 10
    page.click(button)
    page.click("dialog button.main")
    page.wait("document.querySelectorAll('tbody tr').length === 9")
    assert address not in shown(page)
    page.wait_text(".figures dd", "9")


def test_delete_all_wants_the_number(page, own_console):
    console = own_console(1200)
    page.open(console.url)
    page.wait("!document.getElementById('delete-all').disabled")
    page.click("#delete-all")
    page.wait_text("dialog[open] h2", "Delete all 1,200 devices?")
    page.type("120")
    page.press("Enter")
    page.wait("document.querySelector('dialog input').getAttribute('aria-invalid') === 'true'")
    assert console.get("/api/v1/status")["data"]["total_devices"] == 1200
    page.fill("dialog input", "1,200")
    page.press("Enter")
    page.wait_text("#devices", "No devices yet")
    assert console.get("/api/v1/status")["data"]["total_devices"] == 0


def test_keyboard_alone_creates_and_looks(page, own_console):
    console = own_console(10)
    page.open(console.url)
    page.wait("document.querySelectorAll('tbody tr').length === 10")
    page.press("Tab")
    assert page.focused() == "Skip to content"
    assert page.js("document.activeElement.getBoundingClientRect().top >= 0")
    page.press("Enter")
    assert page.js("document.activeElement.id") == "main"
    page.tab_to("Create devices")
    page.press("Enter")
    page.wait("document.querySelector('dialog[open]')")
    page.type(console.other_address)
    page.press("Tab")
    page.type("2")
    # The focus stays in the dialog, round and round.
    for _ in range(20):
        page.press("Tab")
        assert page.js("document.activeElement === document.body"
                       " || document.querySelector('dialog').contains(document.activeElement)")
    page.tab_to("Every type in turn")
    page.press("ArrowDown")
    assert page.js("document.activeElement.value") == "category"
    assert not page.js("document.getElementById('one-category').disabled")
    page.press("Enter")
    page.wait_text(".job", "Created 2 devices")
    assert page.focused() == "Create devices"
    page.wait("document.querySelectorAll('tbody tr').length === 12")
    page.tab_to(console.addresses(1)[0])
    page.press("Enter")
    page.wait_text("h1", console.addresses(1)[0])
    assert page.js("document.activeElement.tagName") == "H1"
    page.js("history.back()")
    page.wait_text("h1", "Fleet")


def test_token_is_asked_for_and_kept_for_the_tab(page, own_console):
    token = "0123456789abcdef-of-the-test"
    console = own_console(10, token=token)
    page.open(console.url)
    page.wait_text("dialog[open] h2", "API token")
    assert page.js("document.querySelectorAll('dialog').length") == 1
    page.press("Escape")
    page.wait_text("#notice", "asks for its API token")
    page.click("#notice button")
    page.wait("document.querySelector('dialog[open]')")
    page.type("wrong-but-long-enough")
    page.press("Enter")
    page.wait_text("dialog .error", "refused")
    page.press("Escape")
    page.wait("document.getElementById('forget').hidden")
    page.click("#notice button")
    page.wait("document.querySelector('dialog[open]')")
    page.type(token)
    page.press("Enter")
    page.wait("document.querySelectorAll('tbody tr').length === 10")
    page.wait_text("#link-state", "Live")
    assert page.js("sessionStorage.getItem('nl6.token')") == token
    assert token not in page.js("JSON.stringify(localStorage) + document.cookie + location.href")
    page.reload()
    page.wait("document.querySelectorAll('tbody tr').length === 10")
    assert not page.js("document.querySelector('dialog')")
    page.click("#forget")
    page.wait_text("#link-state", "Locked")
    assert page.js("sessionStorage.getItem('nl6.token')") is None
    assert {status for status, _ in page.failed} == {401}
    page.failed.clear()


def test_files_of_the_fleet_are_saved(page, own_console, tmp_path):
    token = "0123456789abcdef-of-the-test"
    console = own_console(10, token=token)
    page.downloads_to(tmp_path)
    page.open(console.url)
    page.wait("document.querySelector('dialog[open]')")
    page.type(token)
    page.press("Enter")
    page.wait("!document.getElementById('delete-all').disabled")
    page.click(".actions button:nth-child(1)")
    page.wait_text("#say", "Export CSV: saved")
    page.click(".actions button:nth-child(2)")
    page.wait_text("#say", "Route script: saved")
    csv, script = page.downloaded(tmp_path, ".csv").decode(), page.downloaded(tmp_path, ".sh").decode()
    assert csv.startswith("Device ID,IP Address,") and csv.count("\n") == 11
    assert script.startswith("#!")
    page.failed.clear()


def test_file_is_saved_without_a_token(page, console, tmp_path):
    page.downloads_to(tmp_path)
    page.open(console.url)
    page.wait("!document.getElementById('delete-all').disabled")
    page.click(".actions button:nth-child(1)")
    csv = page.downloaded(tmp_path, ".csv", 120).decode()
    assert csv.count("\n") == console.count + 1


def test_loss_of_the_server_is_shown(page, own_console):
    console = own_console(10)
    page.open(console.url)
    page.wait_text("#link-state", "Live")
    page.wait("document.querySelectorAll('tbody th[scope=row] a').length === 10")
    console.stop()
    page.wait_text("#notice", "does not answer")
    page.failed.clear()  # a server that stops refuses what comes while it does
    assert page.text("#link-state") == "No answer"
    assert shown(page) == console.addresses(10)
    console.start()
    page.wait_text("#link-state", "Live")
    assert page.js("document.getElementById('notice').hidden")


def test_theme_switch_is_kept(page, console):
    page.open(console.url)
    page.wait("document.getElementById('theme')")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.js(ground)
    page.scheme("dark")
    dark = page.js(ground)
    assert light != dark
    page.click("#theme")
    page.wait("document.documentElement.dataset.theme === 'light'")
    assert page.js(ground) == light
    page.click("#theme")
    page.reload()
    page.wait("document.documentElement.dataset.theme === 'dark'")
    page.scheme("light")
    assert page.js(ground) == dark


VIEWS = {"fleet": "#/", "device": "#/devices/{first}", "form": "#/"}


def open_view(page, console, view):
    page.open(console.url + VIEWS[view].format(first=console.addresses(1)[0]))
    page.wait("document.querySelector('tbody tr')")
    if view == "form":
        open_form(page)


@pytest.mark.parametrize("view", VIEWS)
def test_text_stands_out(page, consoles, view):
    """WCAG 1.4.3: every text that is shown and not disabled has a contrast of 4.5 or more."""
    open_view(page, consoles(10), view)
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        page.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        assert page.js(CONTRAST) == []


@pytest.mark.parametrize("view", VIEWS)
def test_what_can_be_used_has_a_name(page, consoles, view):
    open_view(page, consoles(10), view)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    nameless, roles = [], set()
    for node in nodes:
        role = node.get("role", {}).get("value")
        roles.add(role)
        usable = any(p["name"] == "focusable" and p["value"]["value"]
                     for p in node.get("properties", []))
        if usable and role not in ("RootWebArea", "main") and not node.get("name", {}).get("value"):
            nameless.append(role)
    assert nameless == []
    want = {"fleet": {"banner", "main", "region", "search", "table", "navigation", "columnheader",
                      "rowheader"},
            "device": {"banner", "main", "region", "table", "navigation"}, "form": {"dialog"}}
    assert want[view] <= roles


@pytest.mark.parametrize("view", VIEWS)
def test_page_is_never_wider_than_the_window(page, consoles, view):
    open_view(page, consoles(10), view)
    for width in (320, 390, 768, 1024, 1280):
        page.resize(width, 800)
        page.wait(f"innerWidth === {width}")
        assert page.js("document.documentElement.scrollWidth") <= width


def test_policy_is_strict(consoles):
    policy = consoles(10).head("/")["Content-Security-Policy"]
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert re.search(r"(default-src|script-src) '(self|none)'", policy)


CONTRAST = """(() => {
const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
};
const over = (top, under) => top.map((c, i) => i < 3
    ? c * top[3] / 255 + under[i] * (1 - top[3] / 255) : 255);
const ground = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
        const color = rgba(getComputedStyle(e).backgroundColor);
        if (color[3]) layers.push(color);
        if (color[3] === 255) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 255]);
};
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
    if (!text || !e.checkVisibility() || e.closest("noscript, option, :disabled, .unseen, .skip"))
        continue;
    const below = ground(e), above = over(rgba(getComputedStyle(e).color), below);
    const [a, b] = [light(above), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return found;
})()"""
