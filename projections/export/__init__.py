"""Views for people: plain text and Markdown. Pure functions over a view's rows; the JSON form is the rows."""
