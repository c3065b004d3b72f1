"""Views for people and other libraries: text, Markdown, HTML, UIMessages. Pure functions over a view's rows;
the JSON form is the rows."""
