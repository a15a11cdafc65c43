// A page that a server follows is loaded again when it was written again; a file stays as it is.
if (location.protocol.startsWith("http")) {
  const written = async () => (await fetch(location.pathname, { method: "HEAD" })).headers.get("Last-Modified");
  let before;
  setInterval(async () => {
    const now = await written().catch(() => before);
    if (before && now !== before) location.reload();
    before = now;
  }, 3000);
}
