"""The contacts as their users see them."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from programs import await_true

ADA = "00000000-0000-4000-8000-000000000101"
GRACE = "00000000-0000-4000-8000-000000000106"

SECTIONS = """
    return [...document.querySelectorAll("#list .group:not(.leaving)")].map((group) => [
        group.querySelector("h2").textContent,
        [...group.querySelectorAll("li:not(.leaving) b")].map((name) => name.textContent)])
"""
CELLS = """
    return Object.fromEntries([...document.querySelectorAll("#screen .group:not(.leaving) li:not(.leaving)")].map((item) =>
        [item.dataset.id, item.querySelector(".text, strong, input, textarea")?.value
            ?? item.querySelector(".text, strong")?.textContent ?? ""]))
"""


class ContactsPage:
    """A page of the contacts; everything else is the page's."""

    def __init__(self, page):
        self._page = page

    def __getattr__(self, name):
        return getattr(self._page, name)

    @property
    def sections(self):
        return [(title, names) for title, names in self._driver.execute_script(SECTIONS)]

    @property
    def names(self):
        return [name for _, names in self.sections for name in names]

    @property
    def cells(self):
        """What the other screen shows, by the cells' ids."""
        return self._driver.execute_script(CELLS)

    def touched(self, line="list"):
        """What the last snapshot has touched."""
        data = self._driver.execute_script("return {...document.getElementById(arguments[0]).dataset}", f"{line}-touched")
        return {name: int(count) for name, count in data.items()}

    def go(self, place):
        self._driver.execute_script("location.hash = arguments[0]", f"#/{place}")

    def write(self, field, text):
        box = self._find(f"#field-{field}")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(text or Keys.BACKSPACE)

    def press_button(self, label):
        def press():
            # A cell on its way out is inert.
            found = self._driver.find_elements(By.XPATH, f'//li/button[text()="{label}"]')
            for button in found:
                if button.is_enabled() and not button.find_elements(By.XPATH, "./ancestor::*[@inert]"):
                    self._driver.execute_script("arguments[0].click()", button)
                    return True
            return False

        await_true(press, f"a button {label}")

    def await_cell(self, cell, text):
        await_true(lambda: self.cells.get(cell) == text, f"{text!r} in {cell}, which is {self.cells}")
