"""The last page, which leads back to the first."""


def test_the_last_page_leads_back_to_the_first_chapters(visit):
    one = visit("book/way-back", still=True)
    links = one.page.locator("article a.reference.internal")
    found = [
        (links.nth(i).get_attribute("href") or "").split(".")[0]
        for i in range(links.count())
    ]
    order = ["transformer", "attention", "residual", "feedforward"]
    order += ["positions", "heads", "scores", "ladder", "rnnsearch"]
    order += ["transducer", "bottleneck", "recurrence"]
    assert set(order) <= set(found)
    assert found[-1] != "name" and one.troubles == []
