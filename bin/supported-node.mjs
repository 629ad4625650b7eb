// Whether this Node can run Turnwire. Plain JavaScript that old versions can read too, since it is there for them.

/** The first whose SQLite does not damage its files (3.51.3) and gives texts back whole, also those with a NUL inside. */
export const oldestNode = '24.16'
const oldestSqlite = '3.53.0'

/**
 * Undefined: it can. `carries`: whether this checkout brings a Node along for this machine, so that npm scripts work.
 * @param {{ node: string, sqlite?: string | undefined }} versions
 */
export function nodeComplaint({ node, sqlite }, carries) {
  if (Number.parseInt(node, 10) >= 24 && sqlite !== undefined && isAtLeast(sqlite, oldestSqlite))
    return undefined
  const why =
    sqlite === undefined
      ? 'which has no SQLite'
      : `whose SQLite (${sqlite}) can damage its files or cut texts short`
  return `Turnwire needs Node ${oldestNode} or newer. This is Node ${node}, ${why}.
${
  carries
    ? 'In this checkout npm brings the right one along: npm start, or npm run setup and then npm run turnwire -- <command>.'
    : 'Install one from https://nodejs.org/en/download, or with a version manager (nvm install 24, fnm install 24,\nvolta install node@24), and run the same line again.'
}`
}

function isAtLeast(version, oldest) {
  return version.localeCompare(oldest, 'en', { numeric: true }) >= 0
}
