"""HTML that escapes by construction: text is text unless it is already `Markup`."""

from html import escape

_VOID = {"meta", "br", "hr"}


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str) -> Markup:
    """`<name attribute="...">children</name>`: None is left out, `class_` is class, a_b is a-b."""
    opening = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    if name in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(*children)}</{name}>")


def join(*children: str | None) -> Markup:
    """Children one after the other, those that are not `Markup` escaped."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(child)
            for child in children
            if child is not None
        )
    )
