// Makes the frame as high as the mail in it, and again when its width changes. Without scripts the frame
// keeps the height of the style sheet and scrolls.
"use strict";
const frame = document.querySelector("iframe");
const fit = () => {
  const mail = frame.contentDocument?.documentElement;
  if (mail) frame.style.height = mail.offsetHeight + frame.offsetHeight - frame.clientHeight + "px";
};
const watch = () => {
  fit();
  new ResizeObserver(fit).observe(frame.contentDocument.documentElement);
};
frame.addEventListener("load", watch);
if (frame.contentDocument?.readyState === "complete" && frame.contentDocument.URL !== "about:blank") watch();
