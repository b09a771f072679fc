// A button that copies the code of a block; of a block of commands, the commands without output.
for (const code of document.querySelectorAll("pre > code:not(.language-output)")) {
  const button = document.createElement("button")
  const lines = code.textContent.split("\n")
  const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2))
  const copied = code.classList.contains("language-console") ? commands : lines
  button.textContent = "copy"
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(copied.join("\n").trim())
    button.textContent = "copied"
  })
  if (navigator.clipboard) code.parentElement.before(button)
}
// What is too wide for the page scrolls by the keyboard, too.
for (const box of document.querySelectorAll("pre, table, p:has(> img)")) {
  if (box.tagName === "PRE" || box.scrollWidth > box.clientWidth) box.tabIndex = 0
}
