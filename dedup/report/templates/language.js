"use strict";
(() => {
  function speak(chosen) {
    const language = chosen === "zh" ? "zh" : "en";
    document.documentElement.lang = language;
    for (const named of document.querySelectorAll("[data-en]")) {
      const text = named.dataset[language];
      named.setAttribute("aria-label", text);
      if (named.matches("#search")) named.placeholder = text;
    }
    for (const button of document.querySelectorAll("[data-language]"))
      button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }

  for (const button of document.querySelectorAll("[data-language]"))
    button.addEventListener("click", () => speak(button.dataset.language));
  speak((navigator.languages || [navigator.language]).find((name) => /^(zh|en)\b/i.test(name))?.slice(0, 2).toLowerCase());
})();
