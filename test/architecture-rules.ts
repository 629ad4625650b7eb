// The rules of architecture.test.ts that need code, as pure functions, so that made-up trees can show that they fail
// when they should. They read paths and source texts; nothing here touches the disk.

/** Paths of files, each with the paths that it imports. */
export type ImportMap = ReadonlyMap<string, readonly string[]>

/** `typeOnly`: the import is gone when the file runs. */
export type Import = { from: string; to: string; typeOnly: boolean }

/** Files under `in` may import these places. `types`: as types only. A `*` stands for one folder or file name. */
export type ImportRule = { in: string; may: readonly string[]; types?: readonly string[] }

/** The rule of a file: the longest that matches. */
export function ruleFor(file: string, rules: readonly ImportRule[]): ImportRule | undefined {
  return rules.filter(rule => file.startsWith(rule.in)).sort((a, b) => b.in.length - a.in.length)[0]
}

/** The imports that the rules do not allow, as `from -> to`. */
export function forbiddenImports(imports: readonly Import[], rules: readonly ImportRule[]): string[] {
  return imports.flatMap(({ from, to, typeOnly }) => {
    const rule = ruleFor(from, rules)
    const allowed = [...(rule?.may ?? ['']), ...(typeOnly ? (rule?.types ?? []) : [])]
    return allowed.some(place => isIn(to, place)) ? [] : [`${from} -> ${to}`]
  })
}

/** What the rules allow and no file needs, as `folder -> place`: a table that allows more than there is says nothing. */
export function unusedPlaces(imports: readonly Import[], rules: readonly ImportRule[]): string[] {
  return rules.flatMap(rule => {
    const own = imports.filter(({ from }) => ruleFor(from, rules) === rule)
    const isUsed = (place: string): boolean => isIn(rule.in, place) || own.some(({ to }) => isIn(to, place))
    return [...rule.may, ...(rule.types ?? [])]
      .filter(place => !isUsed(place))
      .map(place => `${rule.in} -> ${place}`)
  })
}

/** A place that ends in a slash is a folder. Any other is a file. */
function isIn(path: string, place: string): boolean {
  const [parts, wanted] = [path.split('/'), place.split('/')]
  if (!place.endsWith('/') && place !== '' && parts.length !== wanted.length) return false
  return wanted.every((part, index) => part === '' || part === '*' || part === parts[index])
}

export type AdapterRule = {
  /** Folders whose entries are adapters of one port. An entry is a folder or a file. */
  ports: readonly string[]
  /** Files and folders inside a port that all its adapters may import. */
  shared: readonly string[]
}

/**
 * The imports by which an adapter reaches another adapter of its port, as `from -> to`. A port's `index.ts` joins its
 * adapters, so it may import all of them, and none of them may import it.
 */
export function importsBetweenAdapters(imports: ImportMap, rule: AdapterRule): string[] {
  return [...imports].flatMap(([from, targets]) => {
    const mine = adapterOf(from, rule)
    if (mine === undefined || mine.name === 'index') return []
    return targets.flatMap(to => {
      const theirs = adapterOf(to, rule)
      return theirs?.port === mine.port && theirs.name !== mine.name ? [`${from} -> ${to}`] : []
    })
  })
}

function adapterOf(path: string, rule: AdapterRule): { port: string; name: string } | undefined {
  const port = rule.ports.filter(folder => path.startsWith(folder)).sort((a, b) => b.length - a.length)[0]
  if (port === undefined || isUnder(path, rule.shared)) return undefined
  const [entry = ''] = path.slice(port.length).split('/')
  // `sqlite.ts` beside the folder `sqlite` is the same adapter.
  return { port, name: entry.replace(/\.ts$/, '') }
}

function isUnder(path: string, places: readonly string[]): boolean {
  return places.some(place => path.startsWith(place))
}

/** The largest group of files each of which reaches every other through imports. */
export function largestKnot(imports: ImportMap): string[] {
  const files = [...imports.keys()]
  const reached = new Map(files.map(file => [file, reachedFrom(file, imports)]))
  const reaches = (from: string, to: string): boolean => from === to || reached.get(from)?.has(to) === true
  const knots = files.map(file => files.filter(other => reaches(file, other) && reaches(other, file)))
  return knots.sort((a, b) => b.length - a.length)[0] ?? []
}

/** Every file that a file reaches through imports. */
export function reachedFrom(file: string, imports: ImportMap, reached = new Set<string>()): Set<string> {
  for (const to of imports.get(file) ?? []) {
    if (reached.has(to)) continue
    reached.add(to)
    reachedFrom(to, imports, reached)
  }
  return reached
}

/** The types of events in a text, as literals in code; `types`: those that count. */
export function eventTypesIn(text: string, types: ReadonlySet<string>): string[] {
  const literals = [...withoutComments(text).matchAll(/'([a-z]+\.[a-z]+)'/g)].map(
    ([, literal = '']) => literal,
  )
  return [...new Set(literals.filter(literal => types.has(literal)))]
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

export type FunctionLength = { name: string; lines: number }

/**
 * The top-level functions and the methods of a source text, with their number of lines. It relies on the formatter: a
 * block ends at the first closing brace in the column in which it began.
 */
export function functionLengths(text: string): FunctionLength[] {
  const found: FunctionLength[] = []
  let top = { line: 0, text: '' }
  let member = { line: 0, text: '' }
  for (const [line, content] of text.split('\n').entries()) {
    if (/^[A-Za-z]/.test(content)) top = { line, text: content }
    else if (/^ {2}[A-Za-z#*[]/.test(content)) member = { line, text: content }
    const isClass = /\bclass\b/.test(top.text)
    if (/^\}/.test(content) && isFunction(top.text))
      found.push({ name: nameOf(top.text), lines: line - top.line + 1 })
    if (/^ {2}\}/.test(content) && isClass)
      found.push({ name: `${nameOf(top.text)}.${nameOf(member.text)}`, lines: line - member.line + 1 })
  }
  return found
}

function isFunction(firstLine: string): boolean {
  return /\bfunction\b/.test(firstLine) || /^(export )?const .*(=>|= (async )?\()/.test(firstLine)
}

function nameOf(firstLine: string): string {
  const words = /\b(?:async|class|const|default|export|function|get|override|readonly|set|static)\b|\*/g
  return /[\w$#]+/.exec(firstLine.replace(words, ''))?.[0] ?? ''
}
