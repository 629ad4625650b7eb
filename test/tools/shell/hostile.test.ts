// Commands that try to get around the limits of the sandbox, to leave something behind on the host, or to read what the
// server holds; and a host that cannot start a process.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { ControlGroup, type GroupFiles } from '../../../src/tools/shell/control-group.ts'
import { type ShellOptions, shell } from '../../../src/tools/shell/index.ts'
import { systemCallFilter } from '../../../src/tools/shell/seccomp.ts'
import { skip } from './bubblewrap.ts'

const base = mkdtempSync(join(tmpdir(), 'turnwire-hostile-'))
after(() => rmSync(base, { recursive: true, force: true }))

type Result = { stdout: string; stderr: string; exit_code: number }

function open(options: Partial<ShellOptions> = {}) {
  const folder = mkdtempSync(join(base, 'w-'))
  const made = shell({ root: folder, ...options })
  const one = async (command: string): Promise<Result> => {
    const { structured } = await made.run({ commands: [command], timeout_ms: 60_000 }, contextFor())
    return (structured as { results: [Result] }).results[0]
  }
  return { folder, made, one }
}

const noCompiler = spawnSync('cc', ['--version']).status === 0 ? false : 'there is no C compiler'

/** A program for the sandbox, made here because the sandbox's own folder cannot hold the compiler's temporary files. */
function compile(folder: string, name: string, source: string): void {
  writeFileSync(join(base, `${name}.c`), `#define _GNU_SOURCE\n${source}`)
  const { status, stderr } = spawnSync('cc', ['-O0', '-o', join(folder, name), join(base, `${name}.c`)])
  assert.equal(status, 0, String(stderr))
}

const includes = [
  'errno',
  'fcntl',
  'stdio',
  'stdlib',
  'string',
  'unistd',
  'sys/mman',
  'sys/stat',
  'sys/syscall',
]
  .map(name => `#include <${name}.h>\n`)
  .join('')

describe('memory', { skip: skip || noCompiler }, () => {
  const limits = { memoryBytes: 64 * 1024 * 1024 }

  test('that processes share counts, also after they have dropped their view of it', async () => {
    const { folder, one } = open({ limits })
    compile(
      folder,
      'share',
      `${includes}
int main(void) {
  for (int n = 0; n < 8; n++) {
    char *at = mmap(0, 32 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 1;
    memset(at, 1, 32 << 20);
    madvise(at, 32 << 20, MADV_DONTNEED);
  }
  sleep(60);
  puts("not stopped");
  return 0;
}`,
    )
    const result = await one('./share')
    assert.match(result.stderr, /more than 67108864 bytes of memory/)
    assert.equal(result.exit_code, 137)
  })

  test('that several processes share counts once', async () => {
    const { folder, one } = open({ limits })
    compile(
      folder,
      'fork',
      `${includes}
int main(void) {
  char *at = mmap(0, 24 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  memset(at, 1, 24 << 20);
  for (int n = 0; n < 5; n++) if (fork() == 0) { memset(at, 2, 24 << 20); sleep(60); _exit(0); }
  sleep(1);
  puts("done");
  return 0;
}`,
    )
    assert.deepEqual(await one('./fork'), { stdout: 'done\n', stderr: '', exit_code: 0 })
  })

  test('in files without a name, in segments, and past the filter is not to be had', async () => {
    const { folder, one } = open()
    compile(
      folder,
      'calls',
      `${includes}
#include <sys/shm.h>
static void tell(const char *name, long result) { printf("%s %s\\n", name, result < 0 ? strerror(errno) : "given"); }
int main(void) {
  char ring[256] = { 0 };
  tell("memfd", syscall(SYS_memfd_create, "x", 0));
  tell("secret", syscall(447, 0));
  tell("segment", shmget(IPC_PRIVATE, 4096, 0600));
  tell("ring", syscall(425, 1, ring));
#ifdef __x86_64__
  tell("other", syscall(0x40000000 + 39));
#else
  errno = ENOSYS; tell("other", -1);
#endif
  return 0;
}`,
    )
    const missing = 'Function not implemented'
    assert.equal(
      (await one('./calls')).stdout,
      `memfd ${missing}\nsecret ${missing}\nsegment ${missing}\nring ${missing}\nother ${missing}\n`,
    )
  })
})

describe('a command', { skip }, () => {
  test('makes no namespaces of its own, in which its processes would not be counted', async () => {
    const { one } = open()
    for (const flags of ['-Urpf', '-Ur', '-p', '-m'])
      assert.notEqual((await one(`unshare ${flags} echo inside`)).stdout, 'inside\n', flags)
  })

  test('leaves no file that runs as the server’s user', { skip: noCompiler }, async () => {
    const { folder, one } = open()
    compile(
      folder,
      'bits',
      `${includes}
int main(void) {
  chmod("a", 04755); fchmodat(AT_FDCWD, "a", 02755, 0); syscall(452, AT_FDCWD, "a", 06755, 0);
  fchmod(open("b", O_RDWR), 04755);
  open("c", O_CREAT | O_WRONLY, 04755); openat(AT_FDCWD, "d", O_CREAT | O_WRONLY, 06755);
  creat("e", 04755); mknod("f", S_IFREG | 04755, 0);
  int unnamed = open(".", O_TMPFILE | O_WRONLY, 04755);
  if (unnamed >= 0) linkat(AT_FDCWD, "/proc/self/fd/9", AT_FDCWD, "g", AT_SYMLINK_FOLLOW);
  return 0;
}`,
    )
    const { stderr } = await one(
      'touch a b; cp /bin/true t; chmod u+s t; chmod g+s t; install -m 4755 t u; ./bits; chmod 751 b',
    )
    assert.match(stderr, /Operation not permitted/)
    for (const name of readdirSync(folder))
      assert.equal(statSync(join(folder, name)).mode & 0o6000, 0, `${name} has a set-id bit`)
    assert.equal(statSync(join(folder, 'b')).mode & 0o777, 0o751)
  })

  test('has no descriptors but its input and outputs', async () => {
    const { folder, one } = open()
    const secret = join(base, 'inherited')
    writeFileSync(secret, 'INHERITED')
    // As a service manager or a shell leaves one open for the server that it starts.
    const program = `
      import { shell } from '${new URL('../../../src/tools/shell/index.ts', import.meta.url)}'
      import { contextFor } from '${new URL('../../../src/testing/contracts/tool.ts', import.meta.url)}'
      const made = shell({ root: ${JSON.stringify(folder)} })
      const command = 'cat <&9; for p in /proc/[0-9]*; do cat $p/fd/9 $p/fd/1[0-9]; done; ls /proc/self/fd'
      const { structured } = await made.run({ commands: [command] }, contextFor())
      console.log(JSON.stringify(structured))`
    const { stdout, stderr } = spawnSync(
      'bash',
      [
        '-c',
        `exec 9<"$1" 17<"$1"; exec "$2" --input-type=module -e "$3"`,
        '',
        secret,
        process.execPath,
        program,
      ],
      { encoding: 'utf8' },
    )
    assert.match(stdout, /Bad file descriptor/, stderr)
    assert.ok(!stdout.includes('INHERITED'), stdout)
    assert.equal((await one('ls /proc/self/fd | tr "\\n" " "')).stdout, '0 1 2 3 ')
  })

  test('shows no other user of the host its variables, nor what it is', async () => {
    const { one, made } = open({ env: { TOKEN: 'CANARY-variable' } })
    await one('export MORE=CANARY-exported')
    const seen = Promise.withResolvers<void>()
    const stop = new AbortController()
    const running = made.run(
      { commands: ['echo begun; : CANARY-command; while :; do :; done'] },
      contextFor({ signal: stop.signal, progress: () => seen.resolve() }),
    )
    await seen.promise
    const lines = readdirSync('/proc').flatMap(pid => {
      try {
        return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : []
      } catch {
        return []
      }
    })
    stop.abort(new Error('enough'))
    await assert.rejects(async () => running)
    const shown = lines.filter(line => line.includes('bwrap') || line.includes('--norc'))
    assert.ok(shown.length > 0)
    for (const line of shown) assert.ok(!line.includes('CANARY'), line)
    assert.equal((await one('echo $TOKEN $MORE')).stdout, 'CANARY-variable CANARY-exported\n')
  })

  test('is given as it was written, whatever its characters', async () => {
    const { one, made } = open()
    const odd = `it's "$HOME" \\n \`id\` $(id) 'x' \u0001 é\n`
    assert.equal((await one(`printf %s ${`'${odd.replaceAll("'", `'\\''`)}'`}`)).stdout, odd)
    assert.equal((await one('echo $# "$0"')).stdout, '0 bash\n')
    await assert.rejects(async () => made.run({ commands: ['echo \0'] }, contextFor()), {
      name: 'InvalidInput',
      message: /zero character/,
    })
  })
})

test('variables that bubblewrap would take for options are refused', () => {
  for (const env of [{ A: 'x\0--share-net' }, { 'A\0B': 'x' }, { 'A=B': 'x' }, { '': 'x' }])
    assert.throws(() => shell({ root: base, env }), { code: 'invalid_tool', message: /variable/ })
})

test('without a free descriptor a call fails, the process goes on, and nothing of the variables is printed', {
  skip,
}, async () => {
  const folder = mkdtempSync(join(base, 'w-'))
  const program = `
    import { openSync, closeSync } from 'node:fs'
    import { shell } from '${new URL('../../../src/tools/shell/index.ts', import.meta.url)}'
    import { contextFor } from '${new URL('../../../src/testing/contracts/tool.ts', import.meta.url)}'
    const made = shell({ root: ${JSON.stringify(folder)}, env: { TOKEN: 'CANARY' } })
    const run = async command => {
      try {
        return JSON.stringify((await made.run({ commands: [command] }, contextFor())).structured)
      } catch (error) {
        return error.message
      }
    }
    await run('true')
    const left = []
    const fill = room => {
      try { for (;;) left.push(openSync('/dev/null')) } catch {}
      for (const fd of left.splice(0, room)) closeSync(fd)
    }
    const answers = []
    for (let room = 0; room < 24; room += 1) {
      fill(room)
      answers.push(await run('echo fine'))
      for (const fd of left.splice(0)) closeSync(fd)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    // A command that runs while descriptors run out is still watched, and ends.
    const waiting = run('sleep 0.5; echo late')
    await new Promise(resolve => setTimeout(resolve, 200))
    fill(0)
    answers.push(await waiting)
    for (const fd of left.splice(0)) closeSync(fd)
    answers.push(await run('echo $TOKEN | tr A-Z a-z'))
    console.log(answers.join('\\n'))`
  const child = spawn(
    'bash',
    ['-c', 'ulimit -n 256; exec "$1" --input-type=module -e "$2"', '', process.execPath, program],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', bytes => (said += bytes))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, said)
  assert.match(said, /Nothing was run: the sandbox could not be made. No process could be started \(EMFILE\)/)
  assert.match(said, /late/)
  assert.match(said, /canary/)
  assert.ok(!said.includes('CANARY'), said)
})

describe('the filter of system calls', () => {
  test('exists for the machines that are supported, and for no others', () => {
    for (const arch of ['x64', 'arm64']) assert.equal((systemCallFilter(arch)?.length ?? 1) % 8, 0)
    for (const arch of ['riscv64', 'constructor']) assert.equal(systemCallFilter(arch), undefined)
  })
})

/** A file system of the kernel's kind: a folder that is made has its files at once, if its parent passes controllers on. */
function kernelFiles(own: string, parents: Record<string, 'passes' | 'refuses'>) {
  const files = new Map<string, string>([['/proc/self/cgroup', `1:name=systemd:/x\n0::${own}\n`]])
  const folders = new Set<string>()
  const given: GroupFiles = {
    make(folder) {
      if (!(folder.slice(0, folder.lastIndexOf('/')) in parents)) throw new Error('EACCES')
      folders.add(folder)
      if (parents[folder.slice(0, folder.lastIndexOf('/'))] === 'refuses') return
      for (const name of ['memory.max', 'pids.max', 'memory.oom.group', 'cgroup.procs', 'cgroup.kill'])
        files.set(join(folder, name), '')
      files.set(join(folder, 'memory.events'), 'oom 1\noom_kill 0\n')
    },
    read(file) {
      const text = files.get(file)
      if (text === undefined) throw new Error('ENOENT')
      return text
    },
    write(file, text) {
      if (!files.has(file)) throw new Error('ENOENT')
      files.set(file, text)
    },
    remove: folder => void folders.delete(folder),
  }
  return { given, files, folders }
}

describe('a control group', () => {
  const limits = { memoryBytes: 1_000_000, processes: 7 }

  test('holds the command where one can be made, and says why the kernel ended it', async () => {
    const { given, files, folders } = kernelFiles('/me', { '/sys/fs/cgroup/me': 'passes' })
    const group = ControlGroup.make(limits, given)
    const [folder = ''] = folders
    assert.match(folder, /^\/sys\/fs\/cgroup\/me\/turnwire-\w+$/)
    assert.equal(files.get(`${folder}/memory.max`), '1000000')
    assert.equal(files.get(`${folder}/pids.max`), '8')
    group?.add(42)
    assert.equal(files.get(`${folder}/cgroup.procs`), '42')
    assert.equal(group?.ranOutOfMemory, false)
    files.set(`${folder}/memory.events`, 'oom 1\noom_kill 3\n')
    assert.equal(group?.ranOutOfMemory, true)
    await group?.close()
    assert.deepEqual([files.get(`${folder}/cgroup.kill`), folders.size], ['1', 0])
  })

  test('is not made, and leaves nothing, where the kernel or the rights do not allow it', () => {
    const refusing = kernelFiles('/me', { '/sys/fs/cgroup/me': 'refuses' })
    assert.equal(ControlGroup.make(limits, refusing.given), undefined)
    assert.equal(refusing.folders.size, 0)
    assert.equal(ControlGroup.make(limits, kernelFiles('/me', {}).given), undefined)
    assert.equal(ControlGroup.make(limits, { ...refusing.given, read: () => '4:memory:/x\n' }), undefined)
  })
})

test('a program that is no longer there when a command starts is an error of the call', async () => {
  const gone = join(base, 'bwrap-once')
  writeFileSync(gone, '#!/no/such/interpreter\n')
  chmodSync(gone, 0o755)
  const { made } = open({ bubblewrap: gone })
  await assert.rejects(async () => made.run({ commands: ['true'] }, contextFor()), {
    message: /Nothing was run: the sandbox could not be made. No process could be started \(ENOENT\)/,
  })
})
