-- What is known of a project's code. All of it can be made again from the files.
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    state TEXT NOT NULL,
    unsettled INTEGER NOT NULL, -- changed so shortly before it was read that its times may not tell the next change
    digest TEXT NOT NULL,
    lines INTEGER NOT NULL,
    trouble TEXT NOT NULL -- why nothing is known of it, or empty
);
CREATE INDEX files_by_digest ON files (digest);

CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL, -- the name in lower case
    qualified TEXT NOT NULL,
    kind TEXT NOT NULL,
    line INTEGER NOT NULL,
    last INTEGER NOT NULL,
    signature TEXT NOT NULL,
    doc TEXT NOT NULL
);
CREATE INDEX symbols_by_name ON symbols (folded);
CREATE INDEX symbols_by_file ON symbols (file, line);

CREATE TABLE names (
    name TEXT NOT NULL,
    file INTEGER NOT NULL,
    places TEXT NOT NULL, -- lines and kinds: 12c15a
    uses INTEGER NOT NULL,
    PRIMARY KEY (name, file)
) WITHOUT ROWID;
CREATE INDEX names_by_file ON names (file);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,
    line INTEGER NOT NULL,
    last INTEGER NOT NULL
);
CREATE INDEX chunks_by_file ON chunks (file);

CREATE VIRTUAL TABLE symbol_words USING fts5 (words, doc, tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'");
CREATE VIRTUAL TABLE chunk_words USING fts5 (words, tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'");
