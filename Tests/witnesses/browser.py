"""A page of the Realtime table in headless Chromium, with the words of somebody who uses it."""

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from programs import await_true

# One script reads all rows at one instant; a row on its way out does not count.
NAMES = """
    return [...document.querySelectorAll("#rows:not([hidden]) li:not(.leaving) .name")]
        .map((name) => name.textContent)
"""


class Page:
    def __init__(self, trusts_anybody=False):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in (
            "--headless=new",
            "--window-size=900,860",
            # Chromium refuses its sandbox to root, and a container may not have it.
            "--no-sandbox",
            "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        if trusts_anybody:
            # The tests' certificate is signed by nobody.
            options.add_argument("--ignore-certificate-errors")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self._driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))

    def open(self, url):
        self._driver.get(url)

    def quit(self):
        self._driver.quit()

    @property
    def names(self):
        return self._driver.execute_script(NAMES)

    @property
    def connection(self):
        return self._find("#connection").text

    @property
    def problems(self):
        return self._find("#problems").text

    @property
    def notices(self):
        return self._find("#notices").text

    def script_errors(self):
        """What the console tells of scripts; that a server is away is told there too, and is no fault."""
        entries = self._driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["source"] == "javascript"]

    def await_names(self, *names):
        await_true(lambda: self.names == list(names) or None, f"names {names}")

    def await_live(self):
        await_true(lambda: self.connection == "Live", "a live connection", seconds=40)

    # What a person does

    def add(self, name):
        self._find("#name").send_keys(name, Keys.ENTER)

    def remove(self, name):
        row = self._row(name)
        ActionChains(self._driver).move_to_element(row).perform()
        row.find_element(By.CSS_SELECTOR, ".remove").click()

    def drag(self, name, target):
        """By mouse, from the middle of one row to the middle of another."""
        start, end = self._row(name), self._row(target)
        distance = end.rect["y"] - start.rect["y"]
        ActionChains(self._driver).click_and_hold(start).move_by_offset(0, distance // 2).move_by_offset(
            0, distance - distance // 2
        ).release().perform()

    def press(self, name, *keys):
        """With the handle of a row in focus."""
        self._row(name).find_element(By.CSS_SELECTOR, ".handle").send_keys(*keys)

    def _find(self, selector):
        return self._driver.find_element(By.CSS_SELECTOR, selector)

    def _row(self, name):
        return self._driver.find_element(
            By.XPATH, f'//ol[@id="rows"]/li[not(contains(@class, "leaving"))][.//*[text()="{name}"]]'
        )
