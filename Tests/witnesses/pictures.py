"""Takes the pictures of the README and the guides, by the browser of the witnesses: make pictures.

Each page in three ways: light, dark, and as a phone of 360 pixels shows it, as NAME.png, NAME-dark.png and NAME-phone.png.
"""

import base64
import itertools
import json
import math
import subprocess
import threading
import time
from contextlib import ExitStack

import pusher
from browser import Page
from contacts_page import ADA, ContactsPage
from films_page import FilmsPage
from png import reduced
from programs import BUILD, ROOT, Broker, Demos, await_true
from pusher_socket import PusherSocket
from room_page import RoomPage
from table_page import TablePage, post
from text_page import TextPage
from to_do_page import ToDoPage

PICTURES = ROOT / "config" / "pictures"
# Until rows have glided to their places, and the colour of what has changed has faded.
REST = 2
PHONE_WIDTH, PHONE_HEIGHT_MAX, HEIGHT_MAX = 360, 780, 1_300
# Seconds before the charts of the console are taken. They have a point every ten.
TRAFFIC_TIME = 90
# The end of an element, with the space below it.
END_OF = """
    const element = document.querySelector(arguments[0]);
    const space = parseFloat(getComputedStyle(element).marginBottom) + parseFloat(getComputedStyle(document.body).paddingBottom);
    return Math.ceil(element.getBoundingClientRect().bottom + space);
"""
# As a person sees it who has just opened it: the top, and in the console's navigation the view that is open.
PUT_IN_VIEW = """
    scrollTo(0, 0);
    document.querySelector("nav a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
"""


def take(page, name, width, last="main"):
    """The page in its three ways; down to the end of an element, up to a limit."""
    driver = page._driver
    driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    # A gradient is most of a PNG.
    driver.execute_script("document.body.style.background = 'var(--page)'")
    for suffix, scheme, width, height_max in (
        ("", "light", width, HEIGHT_MAX),
        ("-dark", "dark", width, HEIGHT_MAX),
        ("-phone", "light", PHONE_WIDTH, PHONE_HEIGHT_MAX),
    ):
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        height = set_size(driver, width, height_max, last)
        driver.execute_script(PUT_IN_VIEW)
        time.sleep(REST)
        screen = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        png = reduced(base64.b64decode(screen["data"]))
        (PICTURES / f"{name}{suffix}.png").write_bytes(png)
        print(f"{name}{suffix}.png  {width} × {height}, {len(png) / 1_000:.0f} kB", flush=True)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def set_size(driver, width, height_max, last):
    """Sets the size of the screen to the width and the content's height; returns the height."""
    height = 400
    # Its own height first: what is measured in parts of the screen's height would grow with it.
    for _ in range(3):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        content = driver.execute_script(END_OF, last)
        shown, height = height, min(max(content, 400), height_max)
    return shown


def take_landing(browser, demos):
    browser.open(demos.url + "/")
    browser.await_live()
    await_true(lambda: browser.text("#round-trip").endswith(" ms"), "a time")
    browser._driver.switch_to.frame(browser._driver.find_element("css selector", ".panes iframe"))
    TablePage(browser).add("Margaret Hamilton")
    browser._driver.switch_to.default_content()
    await_true(lambda: browser.text("#shown").endswith(" ms"), "the time from pane to pane")
    # The first was measured while the panes were loaded.
    first = browser.text("#round-trip")
    await_true(lambda: browser.text("#round-trip") != first, "another round trip")
    take(browser, "demos", 900, last=".own")


def take_table(browser, demos):
    table = TablePage(browser)
    table.open(demos.url + "/table/")
    table.await_live()
    await_true(lambda: len(table.names) == 9, "nine rows")
    take(browser, "table", 720)


def take_films(browser, demos):
    films = FilmsPage(browser)
    films.open(demos.url + "/films/")
    films.await_live()
    films.click("#append-and-drop")
    films.await_batch(deletes="0, 1, 2", inserts="3, 4, 5")
    films.click(".batch summary")
    take(browser, "films", 900)


def take_contacts(browser, demos):
    contacts = ContactsPage(browser)
    contacts.open(demos.url + f"/contacts/#/{ADA}")
    contacts.await_live()
    contacts.await_cell("title", "Ada Lovelace")
    post(demos, "/contacts/change", id=ADA, phone="+44 20 7946 0815")
    await_true(lambda: contacts.touched()["revision"] == 2, "the next snapshot")
    take(browser, "contacts", 1_000)


def take_to_do(browser, demos):
    to_dos = ToDoPage(browser)
    to_dos.open(demos.url + "/to-do/")
    to_dos.await_live()
    to_dos.tick("Return the library books")
    await_true(lambda: len(to_dos.titles) == 4, "four rows")
    take(browser, "to-do", 720)


def take_offline(browser, demos):
    """What a page says when it comes back."""
    table = TablePage(browser)
    table.open(demos.url + "/table/")
    table.await_live()
    table.go_offline()
    for name in ("Annie Easley", "Dorothy Vaughan", "Barbara Liskov"):
        post(demos, "/add", name=name, deviceId="pictures")
    table.go_online()
    await_true(lambda: "3 changes while you were away." in table.notices, "what came")
    # Longer than a notice is shown.
    table._driver.execute_script("""
        const notices = document.querySelector("#notices");
        notices.replaceWith(notices.cloneNode(true));
    """)
    take(browser, "offline", 720)


def take_text(demos):
    """Two people in one text, with the caret of one on the other's page."""
    with ExitStack() as stack:
        ada, grace = (TextPage() for _ in range(2))
        stack.callback(ada.quit)
        stack.callback(grace.quit)
        for page, name in ((ada, "Ada"), (grace, "Grace")):
            page.open(demos.url + "/text/")
            page.be_called(name)
            page.reload()
            page.await_loaded()
        ada.type("Several people type here at the same time, and no letter gets lost.\n\nTry it in two windows.")
        ada.await_saved()
        grace.await_text(ada.written)
        grace.put_caret(14)
        grace.type(" and more")
        await_true(lambda: "Grace" in ada.state["carets"], "Grace's caret")
        ada.await_text(grace.written)
        # While the pictures are taken, it would be over.
        ada._driver.execute_script("document.styleSheets[0].insertRule('.caret b { opacity: 1 !important }')")
        take(ada, "text", 720)


def take_room(demos):
    """Two people, one of whom points and types."""
    with ExitStack() as stack:
        ada, grace = (RoomPage(Page()) for _ in range(2))
        stack.callback(ada.quit)
        stack.callback(grace.quit)
        for page, name in ((ada, "Ada"), (grace, "Grace")):
            page.enter(demos, name)
        for page, text in (
            (ada, "Who can read this?"),
            (grace, "You and I. The broker sees only noise."),
            (ada, "And it knows that we are here?"),
            (grace, "Yes: that is what presence channels are for."),
        ):
            page.say(text)
            await_true(lambda: text in [said for _, said in ada.messages], text)
        # While the pictures are taken, it would be over.
        ada._driver.execute_script("""
            const { setTimeout } = window;
            window.setTimeout = (action, time) => (time === 5_000 ? 0 : setTimeout(action, time));
        """)
        grace.point(0.62, 0.3)
        grace.write("So")
        await_true(lambda: ada.text("#typing") and ada.pointers, "that Grace types and points")
        take(ada, "room", 720)


def trigger(broker, channel, event, data):
    command = [BUILD / "fanfare", "trigger", event, json.dumps(data), "--channel", channel, "--url", broker.url]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


def make_traffic(broker, stack, is_over):
    """Something for the charts: subscribers come and stay, and events at a rate that rises and falls."""
    backend = pusher.Pusher(broker.app_id, broker.key, broker.secret, host="127.0.0.1", port=broker.port, ssl=False)
    begin = time.monotonic()
    subscriber_count = 0
    for number in itertools.count():
        if is_over.is_set():
            return
        seconds = time.monotonic() - begin
        if subscriber_count < seconds / 4:
            subscriber = stack.enter_context(PusherSocket(f"ws://127.0.0.1:{broker.port}", broker.key))
            subscriber.subscribe("news")
            threading.Thread(target=subscriber.stay, daemon=True).start()
            subscriber_count += 1
        backend.trigger("news", "published", {"id": number, "title": "The moment it happens"})
        time.sleep(0.02 + 0.2 * (1 + math.cos(seconds / 9)))


def take_console(browser, broker, stack):
    """Each view of the console, behind a while with clients and events."""
    is_over = threading.Event()
    traffic = threading.Thread(target=make_traffic, args=(broker, stack, is_over))
    traffic.start()
    stack.callback(is_over.set)
    time.sleep(TRAFFIC_TIME)
    browser.open(broker.url + "/")
    await_true(lambda: browser.connection == "Live", "a live console")
    take(browser, "console", 1_000)
    is_over.set()
    traffic.join()
    # Of all that, the list of events would be as long as it may be.
    browser._driver.execute_script("document.querySelector('#clear').click()")
    for dish in ("Soup", "Bread", "Cheese"):
        trigger(broker, "private-orders", "ordered", {"dish": dish, "table": 7})
    for number in range(6):
        trigger(broker, "news", "published", {"id": 4200 + number, "title": "The moment it happens"})
    trigger(broker, "private-orders", "ordered", {"dish": "Cake", "table": 3})
    links = "return [...document.querySelectorAll('nav a[href^=\"#\"]')].map((link) => link.hash.slice(1))"
    for view in browser._driver.execute_script(links)[1:]:
        browser._driver.execute_script("location.hash = arguments[0]", view)
        if view == "events":
            await_true(lambda: browser._driver.find_elements("css selector", "#event-list summary"), "the events")
            browser.click("#event-list summary")
        take(browser, f"console-{view}", 1_000)


def main():
    with Broker() as broker, Demos(broker.port) as demos, ExitStack() as stack:
        browser = Page()
        stack.callback(browser.quit)
        take_landing(browser, demos)
        take_table(browser, demos)
        take_films(browser, demos)
        take_contacts(browser, demos)
        take_to_do(browser, demos)
        take_offline(browser, demos)
        take_text(demos)
        take_room(demos)
        # Behind the demos: their events and pages are in it.
        take_console(browser, broker, stack)


if __name__ == "__main__":
    main()
