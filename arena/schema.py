"""The tables of the store, one script a version."""

# A file of an older version goes through the scripts that it lacks. Never edit one that was released.
MIGRATIONS = (
    """
    CREATE TABLE run(name TEXT PRIMARY KEY, kind TEXT NOT NULL, config TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE match(
      id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, pool TEXT NOT NULL, game TEXT NOT NULL, ending TEXT NOT NULL,
      record TEXT NOT NULL) STRICT;
    CREATE INDEX match_pool ON match(pool, id);
    CREATE TABLE body(match_id INTEGER PRIMARY KEY REFERENCES match(id) ON DELETE CASCADE, zstd BLOB NOT NULL) STRICT;
    CREATE TABLE seat(
      match_id INTEGER NOT NULL REFERENCES match(id) ON DELETE CASCADE, team INTEGER NOT NULL, member INTEGER NOT NULL,
      agent TEXT NOT NULL, role TEXT NOT NULL, score REAL, PRIMARY KEY(match_id, team, member)) STRICT, WITHOUT ROWID;
    CREATE INDEX seat_agent ON seat(agent, match_id);
    CREATE TABLE turn(
      match_id INTEGER NOT NULL REFERENCES match(id) ON DELETE CASCADE,
      episode INTEGER NOT NULL, number INTEGER NOT NULL, stage INTEGER NOT NULL, seat INTEGER NOT NULL,
      legal INTEGER NOT NULL, reward REAL NOT NULL, tokens INTEGER NOT NULL,
      PRIMARY KEY(match_id, episode, number)) STRICT, WITHOUT ROWID;
    CREATE TABLE rating(
      pool TEXT NOT NULL, game TEXT NOT NULL, role TEXT NOT NULL, agent TEXT NOT NULL, mu REAL NOT NULL,
      sigma REAL NOT NULL, matches INTEGER NOT NULL, PRIMARY KEY(pool, game, role, agent)) STRICT, WITHOUT ROWID;
    CREATE TABLE metric(
      run TEXT NOT NULL REFERENCES run(name), step INTEGER NOT NULL, key TEXT NOT NULL, value REAL,
      PRIMARY KEY(run, step, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE event(
      id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(name), step INTEGER, kind TEXT NOT NULL,
      content TEXT NOT NULL) STRICT;
    """,
    """
    ALTER TABLE match ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE match ADD COLUMN illegal INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE match ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE faced(
      task TEXT NOT NULL, match_id INTEGER NOT NULL REFERENCES match(id) ON DELETE CASCADE,
      PRIMARY KEY(task, match_id)) STRICT, WITHOUT ROWID;
    CREATE INDEX faced_match ON faced(match_id);
    CREATE TABLE payoff(
      pool TEXT NOT NULL, game TEXT NOT NULL, agent TEXT NOT NULL, other TEXT NOT NULL, won INTEGER NOT NULL,
      drawn INTEGER NOT NULL, lost INTEGER NOT NULL, PRIMARY KEY(pool, game, agent, other)) STRICT, WITHOUT ROWID;
    CREATE TABLE rule(pool TEXT PRIMARY KEY, frozen TEXT NOT NULL, draws TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO rule SELECT pool, json_group_array(DISTINCT agent), '{}' FROM rating GROUP BY pool;
    CREATE TABLE task(
      run TEXT NOT NULL REFERENCES run(name), id TEXT NOT NULL, step INTEGER NOT NULL, gate TEXT NOT NULL,
      state TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY(run, id, step, gate)) STRICT, WITHOUT ROWID;
    CREATE TABLE task_edge(
      run TEXT NOT NULL REFERENCES run(name), parent TEXT NOT NULL, child TEXT NOT NULL,
      PRIMARY KEY(run, child, parent)) STRICT, WITHOUT ROWID;
    """,  # rule: version 1 rated tournaments only, whose entrants don't learn
)

# These added columns and tables that are made of the matches' records and bodies.
DERIVING = (2,)
