// Serves the build of the web console. A browser that navigates gets the page at every address of the console; everyone
// else gets what the wires have there. The page may load scripts, styles and pictures of this server and nothing else.
import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Context, Hono } from 'hono'
import { TurnwireError } from '../language/errors.ts'
import type { WireEnv } from '../wires/host.ts'
import { RESPONSE_ALREADY_SENT } from '../wires/http/index.ts'

/** Beside the sources in a checkout, beside the compiled files in the package. */
const folders = ['../../console/dist', '../console'].map(path =>
  fileURLToPath(new URL(path, import.meta.url)),
)

export function consoleFolder(): string | undefined {
  return folders.find(folder => existsSync(join(folder, 'index.html')))
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
}

/** The build has files in these two places only. */
const fileName = /^(?:assets\/)?[\w-][\w.-]*$/

/** The addresses of the console's pages. */
const pages = [
  '/',
  '/playground',
  '/sessions',
  '/sessions/:id',
  '/compare',
  '/approvals',
  '/tools',
  '/overview',
  '/policy',
  '/payments',
  '/system',
  '/sign-in',
]

/** `mount`: the path under which an application serves it, else empty. Undefined: the console was not built. */
export function consoleRoutes(mount: string): Hono<WireEnv> | undefined {
  const folder = consoleFolder()
  if (folder === undefined) return undefined
  const compressed = new CompressedFiles()
  const app = new Hono<WireEnv>()
  for (const page of pages)
    app.get(page, async (c, next) => {
      if (!wantsPage(c)) return next()
      return sendPage(c, folder, mount)
    })
  app.get('/console/*', async c => {
    const name = c.req.path.slice('/console/'.length)
    const file = join(folder, name)
    if (!fileName.test(name) || !(extname(file) in types) || !existsSync(file))
      throw new TurnwireError('not_found', 'The console has no such file.')
    // Names of assets carry a hash of their content.
    const small = acceptsGzip(c) ? await compressed.of(file) : undefined
    return sendFile(
      c,
      file,
      'public, max-age=31536000, immutable',
      200,
      small && { body: small, encoding: 'gzip' },
    )
  })
  return app
}

/** The console's own page of what does not exist, for a browser. Undefined: the caller is none, or there is no console. */
export function missingPage(c: Context<WireEnv>, mount: string): Response | undefined {
  const folder = c.req.method === 'GET' && wantsPage(c) ? consoleFolder() : undefined
  return folder === undefined ? undefined : sendPage(c, folder, mount, 404)
}

/** The page, with the path of its mount in its addresses and where its scripts look for it. */
function sendPage(c: Context<WireEnv>, folder: string, mount: string, status = 200): Response {
  const file = join(folder, 'index.html')
  if (mount === '') return sendFile(c, file, 'no-cache', status)
  const path = mount.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const page = readFileSync(file, 'utf8')
    .replaceAll('"/console/', () => `"${path}/console/`)
    .replace('name="turnwire-mount" content="/"', () => `name="turnwire-mount" content="${path}"`)
  return sendFile(c, file, 'no-cache', status, { body: Buffer.from(page) })
}

function wantsPage(c: Context<WireEnv>): boolean {
  return c.req.header('accept')?.includes('text/html') === true
}

function acceptsGzip(c: Context<WireEnv>): boolean {
  return /\bgzip\b(?!;q=0(?:\.0*)?(?:,|$))/.test(c.req.header('accept-encoding') ?? '')
}

const compress = promisify(gzip)

/** Scripts and styles of the build, compressed once. There are as many as the build has. */
class CompressedFiles {
  readonly #files = new Map<string, Promise<Buffer>>()

  /** Undefined: its kind does not get smaller. */
  of(file: string): Promise<Buffer> | undefined {
    if (!['.js', '.css', '.svg', '.json', '.txt'].includes(extname(file))) return undefined
    const known = this.#files.get(file) ?? compress(readFileSync(file), { level: 9 })
    this.#files.set(file, known)
    return known
  }
}

/** `changed`: what is sent in place of the file as it is. */
function sendFile(
  c: Context<WireEnv>,
  file: string,
  cache: string,
  status = 200,
  changed?: { body: Buffer; encoding?: 'gzip' },
): Response {
  const { body, encoding } = changed ?? { body: readFileSync(file) }
  c.env.outgoing.writeHead(status, {
    'content-type': types[extname(file)] ?? 'application/octet-stream',
    'content-length': body.length,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': cache,
    vary: 'Accept, Accept-Encoding',
    ...(encoding && { 'content-encoding': encoding }),
  })
  c.env.outgoing.end(body)
  return RESPONSE_ALREADY_SENT
}
