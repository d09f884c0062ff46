"""axe-core, the checker of accessibility, in a page that Chromium shows."""

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def missing() -> str:
    """Why there is no axe-core, or ""."""
    try:
        import axe_playwright_python  # noqa: F401
    except ImportError:
        return "axe-core is missing: pip install axe-playwright-python"
    return ""


def violations(page) -> list[str]:
    """A line on each violation: its rule, what it asks, and the elements."""
    from axe_playwright_python.base import AXE_SCRIPT

    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(
        "(rules) => axe.run({ runOnly: rules, resultTypes: ['violations'] })", RULES
    )["violations"]
    return [
        f"{each['id']}: {each['help']}: "
        + "; ".join(
            f"{' '.join(map(str, node['target']))} ({node.get('failureSummary', '')[:300]})"
            for node in each["nodes"][:4]
        )
        for each in found
    ]
