// Addresses and paths in the patterns of a grant. An address is compared part by part, as a client of it reads it: a
// star in the host never reaches the path, whatever characters the value has. An address that two readers could read
// differently is not covered: one with user names, backslashes, dots in place of folders, or escapes of any of these.
import { isAnything, isExactly, matchesPieces, type PatternPiece } from './star-patterns.ts'

/** These are read as addresses also without `//`. */
const webScheme = /^(?:https?|wss?|ftp|file):/i
const withAuthority = /^[a-z][a-z\d+.-]*:\/\//i

export function isAddress(text: string): boolean {
  return webScheme.test(text) || withAuthority.test(text)
}

/** `..` leads out of the folder that a pattern names, `.` to the folder itself, some servers drop what follows `;`. */
const leadsElsewhere = /(?:^|[/\\])\.\.(?:[/\\;]|$)|[/\\]\.(?:[/\\;]|$)/
const isHidden = /\p{C}/u

/** Whether the text is covered as it is, and with its percent-escapes decoded as often as there are any. */
export function coversText(pieces: readonly PatternPiece[], text: string): boolean {
  const readings = listReadings(text)
  return (
    readings?.every(
      reading => !isHidden.test(reading) && !leadsElsewhere.test(reading) && matchesPieces(pieces, reading),
    ) ?? false
  )
}

const mostDecodings = 4

/** Undefined: it has escapes that readers disagree about, or escapes of escapes without end. */
function listReadings(text: string): string[] | undefined {
  const readings = [text]
  try {
    for (let last = text; readings.length <= mostDecodings; readings.push(last)) {
      const decoded = last.replace(/(?:%[\da-f]{2})+/gi, decodeURIComponent)
      if (decoded === last) return readings
      last = decoded
    }
  } catch {
    // Not UTF-8.
  }
  return undefined
}

type Parts<Part> = { scheme: Part; host: Part; port: Part; path: Part; query?: Part; fragment?: Part }

/** `pieces`: of a pattern. False also if the pattern is none of an address. */
export function coversAddress(pieces: readonly PatternPiece[], text: string): boolean {
  const given = readAddress(text)
  const wanted = readPattern(pieces)
  if (!given || !wanted) return false
  // At the end of a pattern `**` stands for the rest, whichever parts that has.
  const isOpen = isAnything(pieces.at(-1))
  const anyRest = isOpen && wanted.query === undefined && wanted.fragment === undefined
  const anyPath = anyRest && wanted.path.length === 0
  const anyPort = wanted.host.length === 1 && isAnything(wanted.host[0])
  return (
    matchesPieces(wanted.scheme, given.scheme) &&
    matchesPieces(wanted.host, given.host) &&
    (matchesPieces(wanted.port, given.port) || (anyPort && wanted.port.length === 0)) &&
    (anyPath ? coversText([any], given.path) : coversText(pathPieces(wanted.path), given.path)) &&
    coversPart(wanted.query, given.query, anyRest) &&
    coversPart(wanted.fragment, given.fragment, isOpen && wanted.fragment === undefined)
  )
}

const any: PatternPiece = { star: undefined }

function coversPart(
  wanted: PatternPiece[] | undefined,
  given: string | undefined,
  anyText: boolean,
): boolean {
  if (given === undefined) return wanted === undefined
  if (wanted === undefined) return anyText && coversText([any], given)
  return coversText(wanted, given)
}

/** An address without a path has the path `/`. */
function pathPieces(wanted: PatternPiece[]): PatternPiece[] {
  return wanted.length === 0 ? [{ exact: '/' }] : wanted
}

// ---- the value -----------------------------------------------------------------------------------------------

const parts = /^([a-z][a-z\d+.-]*):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/i

/** Undefined: it is no address, or one that can be read in several ways. */
function readAddress(text: string): Parts<string> | undefined {
  if (/[\s\\]/u.test(text) || !URL.canParse(text)) return undefined
  const [, scheme = '', authority = '', path = '', query, fragment] = parts.exec(text) ?? []
  // Some readers end the host at other characters than these.
  if (scheme === '' || /[@%<>^|`"'{}]/.test(authority)) return undefined
  const { hostname, port } = new URL(text)
  const written = authority.replace(/:\d*$/, '').toLowerCase()
  // 0x7f.1 is an address of this machine, and does not look like it.
  if (isNumeric(hostname) && hostname !== written) return undefined
  return {
    scheme: scheme.toLowerCase(),
    host: hostname.toLowerCase(),
    port,
    path: path === '' ? '/' : path,
    ...(query !== undefined && { query }),
    ...(fragment !== undefined && { fragment }),
  }
}

function isNumeric(host: string): boolean {
  return host.startsWith('[') || /^[\d.]+$/.test(host)
}

// ---- the pattern ---------------------------------------------------------------------------------------------

/** Whether the pattern is one of addresses: a scheme, then `://`. */
export function isAddressPattern(pieces: readonly PatternPiece[]): boolean {
  return schemeEnd(pieces) > 0
}

function schemeEnd(pieces: readonly PatternPiece[]): number {
  const at = pieces.findIndex(piece => 'exact' in piece && !/[a-z\d+.-]/i.test(piece.exact))
  const isEnd = isExactly(pieces[at], ':') && isExactly(pieces[at + 1], '/') && isExactly(pieces[at + 2], '/')
  return isEnd ? at : -1
}

function readPattern(pieces: readonly PatternPiece[]): Parts<PatternPiece[]> | undefined {
  const end = schemeEnd(pieces)
  if (end <= 0) return undefined
  const [authority, afterHost] = upTo(pieces.slice(end + 3), '/?#')
  const [path, afterPath] = upTo(afterHost, '?#')
  const [query, afterQuery] = isExactly(afterPath[0], '?')
    ? upTo(afterPath.slice(1), '#')
    : [undefined, afterPath]
  const fragment = isExactly(afterQuery[0], '#') ? afterQuery.slice(1) : undefined
  const scheme = lowered(pieces.slice(0, end))
  return {
    scheme,
    ...hostAndPort(authority, scheme),
    path,
    ...(query && { query }),
    ...(fragment && { fragment }),
  }
}

/** Splits the pieces before the first of these characters. */
function upTo(pieces: readonly PatternPiece[], ends: string): [PatternPiece[], PatternPiece[]] {
  const found = pieces.findIndex(piece => 'exact' in piece && ends.includes(piece.exact))
  const at = found === -1 ? pieces.length : found
  return [pieces.slice(0, at), pieces.slice(at)]
}

/** A port that is the scheme's own is left out, as in an address that was read. */
function hostAndPort(
  authority: readonly PatternPiece[],
  scheme: readonly PatternPiece[],
): { host: PatternPiece[]; port: PatternPiece[] } {
  const at = authority.findLastIndex(piece => isExactly(piece, ':'))
  const after = authority.slice(at + 1)
  const isPort = at !== -1 && after.every(piece => 'star' in piece || /\d/.test(piece.exact))
  const host = lowered(isPort ? authority.slice(0, at) : authority)
  const port = isPort ? after : []
  const isUsual = textOfPieces(port) === usualPorts[textOfPieces(scheme) ?? '']
  return { host: asciiHost(host), port: isUsual ? [] : port }
}

const usualPorts: Readonly<Record<string, string>> = {
  http: '80',
  https: '443',
  ws: '80',
  wss: '443',
  ftp: '21',
}

/** Undefined if there is a star in it. */
function textOfPieces(pieces: readonly PatternPiece[]): string | undefined {
  let text = ''
  for (const piece of pieces) {
    if ('star' in piece) return undefined
    text += piece.exact
  }
  return text
}

function lowered(pieces: readonly PatternPiece[]): PatternPiece[] {
  return pieces.map(piece => ('exact' in piece ? { exact: piece.exact.toLowerCase() } : piece))
}

/** Labels in other alphabets, as an address that was read has them. Those with a star stay as they are. */
function asciiHost(host: readonly PatternPiece[]): PatternPiece[] {
  const labels: PatternPiece[][] = [[]]
  for (const piece of host) {
    if (isExactly(piece, '.')) labels.push([])
    else labels.at(-1)!.push(piece)
  }
  return labels.flatMap((label, index) => {
    const text = textOfPieces(label)
    const isForeign = text !== undefined && /[^\x20-\x7e]/.test(text) && URL.canParse(`http://${text}`)
    const ascii = isForeign ? Array.from(new URL(`http://${text}`).hostname, exact => ({ exact })) : label
    return index === 0 ? ascii : [{ exact: '.' }, ...ascii]
  })
}
