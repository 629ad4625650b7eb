// A pooler of transactions for tests: the machine's own pgbouncer, or Debian's package, unpacked into a temporary folder and
// installed nowhere.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../free-port.ts'
import { account, makeFolder } from './server.ts'

type Program = { command: string; libraries: string | undefined }

/** The program, or why there is none. */
export function findPgbouncer(folder: string): Program | string {
  const own = ['pgbouncer', '/usr/sbin/pgbouncer'].find(each => spawnSync(each, ['--version']).status === 0)
  if (own !== undefined) return { command: own, libraries: undefined }
  const packages = ['pgbouncer', 'libc-ares2', 'libevent-2.1-7']
  const download = spawnSync('apt-get', ['download', ...packages], { cwd: folder, encoding: 'utf8' })
  if (download.status !== 0)
    return `there is no pgbouncer, and apt-get cannot download it: ${download.stderr || String(download.error)}`
  for (const file of readdirSync(folder).filter(name => name.endsWith('.deb')))
    execFileSync('dpkg', ['-x', join(folder, file), folder])
  const libraries = readdirSync(join(folder, 'usr/lib')).map(name => join(folder, 'usr/lib', name))
  const program = { command: join(folder, 'usr/sbin/pgbouncer'), libraries: libraries.join(':') }
  const started = spawnSync(program.command, ['--version'], { env: environment(program), encoding: 'utf8' })
  return started.status === 0 ? program : `pgbouncer does not start: ${started.stderr}`
}

function environment({ libraries }: Program): NodeJS.ProcessEnv {
  return libraries === undefined ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries }
}

export type Pooler = { url: string; stop(): Promise<void> }

/** In front of the database at `url`, with fewer connections to it than clients have. */
export async function startPgbouncer(program: Program, url: string): Promise<Pooler> {
  const folder = join(makeFolder(), 'pooler')
  mkdirSync(folder)
  const port = await freePort()
  const { hostname, port: far, username, password, pathname } = new URL(url)
  const database = `host=${hostname} port=${far || 5432} user=${username} password=${password} dbname=${pathname.slice(1)}`
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]\npooled = ${database}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any
pool_mode = transaction\ndefault_pool_size = 3\nunix_socket_dir =\n`,
  )
  const child = spawn(program.command, [join(folder, 'pgbouncer.ini')], {
    ...account(),
    env: environment(program),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  while (!said.includes('process up')) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${said}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${port}/pooled`,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      if (existsSync(folder)) rmSync(join(folder, '..'), { recursive: true, force: true })
    },
  }
}
