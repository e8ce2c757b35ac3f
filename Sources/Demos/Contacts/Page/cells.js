// The kinds of cells: how a cell's element is created, and how its contents are updated when they
// differ. `perform(action, value)` forwards the user's actions.

import { hue, initials } from "/me.js";

export const kinds = {
  /** A contact in the list: `name`, `detail`, `href`, `isCurrent`. */
  person: {
    make(item) {
      item.append(make("a", "open", make("span", "badge"), make("span", "words", make("b"), make("span", "detail"))));
    },
    fill(item, { name, detail, href, isCurrent }) {
      const link = item.querySelector("a");
      link.href = href;
      link.toggleAttribute("aria-current", isCurrent);
      fillBadge(item, name);
      item.querySelector("b").textContent = name;
      item.querySelector(".detail").textContent = detail;
    },
  },

  /** The title of a card: `name`, `isGone`. */
  title: {
    make(item) {
      item.append(make("span", "badge"), make("strong"));
    },
    fill(item, { name, isGone }) {
      fillBadge(item, name);
      item.classList.toggle("gone", Boolean(isGone));
      item.querySelector("strong").textContent = name;
    },
  },

  /** A detail: `label`, `text`, and its link, `href`. */
  fact: {
    make(item, { href }) {
      item.append(make("span", "label"), make(href ? "a" : "p", "text"));
    },
    fill(item, { label, text, href }) {
      item.querySelector(".label").textContent = label;
      item.querySelector(".text").textContent = text;
      if (href) item.querySelector("a").href = href;
    },
  },

  /** An input: `label`, `value`, `error`, and a `hint` about a concurrent change. */
  field: {
    make(item, { id, type, limit, isLong }, perform) {
      const input = make(isLong ? "textarea" : "input");
      Object.assign(input, { id: `field-${id}`, maxLength: limit, autocomplete: "off" });
      if (isLong) input.rows = 4;
      else input.type = type;
      const label = make("label");
      label.htmlFor = input.id;
      const error = make("p", "error");
      error.id = `error-${id}`;
      const take = make("button", "take");
      take.type = "button";
      take.textContent = "Use it";
      item.append(label, input, error, make("p", "hint", make("span"), " ", take));
      input.addEventListener("input", () => perform(item.cell.action, input.value));
      take.addEventListener("click", () => {
        perform(item.cell.hintAction);
        input.focus();
      });
    },
    fill(item, { id, label, value, error, hint, isBusy }) {
      const input = item.querySelector("input, textarea");
      item.querySelector("label").textContent = label;
      // Setting the value would move the user's caret.
      if (input.value !== value) input.value = value;
      input.readOnly = Boolean(isBusy);
      input.setAttribute("aria-invalid", error ? "true" : "false");
      if (error) input.setAttribute("aria-describedby", `error-${id}`);
      else input.removeAttribute("aria-describedby");
      show(item.querySelector(".error"), error);
      item.querySelector(".hint").hidden = !hint;
      item.querySelector(".hint span").textContent = hint ?? "";
    },
  },

  /** A message: `text`, `tone`. */
  message: {
    make(item) {
      item.append(make("p", "text"));
    },
    fill(item, { text, tone }) {
      item.dataset.tone = tone ?? "";
      item.querySelector("p").textContent = text;
    },
  },

  /** Buttons `{ label, action, tone }`; the one without an action submits the form. */
  buttons: {
    make(item, _cell, perform) {
      item.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        const index = [...item.children].indexOf(button);
        if (button?.type === "button") perform(item.cell.buttons[index].action);
      });
    },
    fill(item, { buttons, isBusy }) {
      while (item.children.length > buttons.length) item.lastChild.remove();
      buttons.forEach(({ label, action, tone }, index) => {
        const button = item.children[index] ?? item.appendChild(make("button"));
        button.type = action ? "button" : "submit";
        button.textContent = label;
        button.dataset.tone = tone ?? "";
        button.disabled = Boolean(isBusy);
      });
    },
  },

  /** The model is being loaded: `text`. */
  loading: {
    make(item) {
      const spinner = make("span", "spinner");
      spinner.setAttribute("aria-hidden", "true");
      item.append(spinner, make("span", "text"));
    },
    fill(item, { text }) {
      item.querySelector(".text").textContent = text;
    },
  },
};

function fillBadge(item, name) {
  const badge = item.querySelector(".badge");
  badge.setAttribute("aria-hidden", "true");
  badge.textContent = initials(name);
  badge.style.setProperty("--hue", hue(name));
}

function make(tag, className = "", ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

function show(element, text) {
  element.hidden = !text;
  element.textContent = text ?? "";
}
