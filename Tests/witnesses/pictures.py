"""Takes the pictures of the README and the guides, by the browser of the witnesses: make pictures."""

import subprocess
import sys
import time

from browser import Page
from contacts_page import ADA, ContactsPage
from films_page import FilmsPage
from programs import BUILD, ROOT, Broker, Demos, Program, await_true
from table_page import TablePage, post
from text_page import TextPage
from to_do_page import ToDoPage

PICTURES = ROOT / "config" / "pictures"
# Until rows have glided to their places, and the colour of what has changed has faded.
REST = 2


def resize(page, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    page._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def take(page, name, width, height):
    resize(page, width, height)
    page._driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    # A gradient is most of a PNG.
    page._driver.execute_script("document.body.style.background = 'var(--page)'")
    time.sleep(REST)
    page.save_picture(PICTURES / name)


def take_console():
    """The console of a broker with some clients: events on a desktop, connections on a dark phone."""
    with (
        Broker() as broker,
        Program("fanfare", "listen", "presence-room", "orders", "--user", "ann", "--url", broker.url) as ann,
        Program("fanfare", "listen", "orders", "cache-prices", "--url", broker.url) as other,
    ):
        ann.await_line("subscribed to orders")
        other.await_line("subscribed to cache-prices")
        browser = Page()
        try:
            browser.open(broker.url + "/")
            browser.await_live()
            browser.click('nav a[href="#events"]')
            for number, (channel, event, *more) in enumerate(
                [
                    ("cache-prices", "price"),
                    ("orders", "order-placed"),
                    ("orders", "order-paid", "--secret", "an-old-secret"),
                    ("orders", "order-paid"),
                ]
            ):
                data = f'{{"order":{4711 + number},"total":12.5}}'
                command = ["trigger", event, data, "--channel", channel, "--url", broker.url, *more]
                subprocess.run([BUILD / "fanfare", *command], capture_output=True)
            await_true(lambda: browser.run("return document.querySelectorAll('#event-list > li').length") >= 4, "events")
            browser.run("document.querySelector('#event-list details').open = true")
            take(browser, "console.png", 1000, 720)
            dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
            browser._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
            # Before the click, which scrolls the view's name into the middle.
            resize(browser, 360, 700)
            browser.click('nav a[href="#connections"]')
            await_true(lambda: "2 connections" in browser.text("#connection-count"), "the connections")
            browser.run("document.querySelector('#connection-list details').open = true")
            take(browser, "console-phone.png", 360, 700)
        finally:
            browser.quit()


def main():
    take_console()
    if sys.argv[1:] == ["console"]:
        return
    with Broker() as broker, Demos(broker.port) as demos:
        browser = Page()
        try:
            browser.open(demos.url + "/")
            take(browser, "demos.png", 900, 680)

            for name in ("Ada Lovelace", "Grace Hopper", "Mary Jackson", "Hedy Lamarr", "Radia Perlman"):
                post(demos, "/add", name=name, deviceId="pictures")
            table = TablePage(browser)
            table.open(demos.url + "/table/")
            table.await_live()
            await_true(lambda: len(table.names) == 6, "six rows")
            take(browser, "realtime-table.png", 720, 680)

            films = FilmsPage(browser)
            films.open(demos.url + "/films/")
            films.await_live()
            films.click("#append-and-drop")
            films.await_batch(deletes="0, 1, 2", inserts="3, 4, 5")
            take(browser, "films.png", 900, 720)

            contacts = ContactsPage(browser)
            contacts.open(demos.url + f"/contacts/#/{ADA}")
            contacts.await_live()
            contacts.await_cell("title", "Ada Lovelace")
            post(demos, "/contacts/change", id=ADA, phone="+44 20 7946 0815")
            await_true(lambda: contacts.touched()["revision"] == 2, "the next snapshot")
            take(browser, "contacts.png", 1000, 820)

            to_dos = ToDoPage(browser)
            to_dos.open(demos.url + "/to-do/")
            to_dos.await_live()
            to_dos.tick("Return the library books")
            await_true(lambda: len(to_dos.titles) == 4, "four rows")
            take(browser, "to-do.png", 720, 680)
            take_text(demos)
        finally:
            browser.quit()


def take_text(demos):
    """Two people in one text, with the caret of one on the other's page."""
    ada, grace = TextPage(), TextPage()
    try:
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
        take(ada, "text.png", 720, 680)
    finally:
        ada.quit()
        grace.quit()


if __name__ == "__main__":
    main()
