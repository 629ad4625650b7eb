// What lists show of a session, beside its log. Published: never edited, only followed by another number.
//
// Sessions of the first shape have none until their settings change: whoever lists them reads their log instead.
export const cards = `
CREATE TABLE cards (
  session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
  body TEXT NOT NULL
);
`
