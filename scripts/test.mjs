// Runs every test file with Node's own runner. Arguments narrow the run: `npm run test:run -- aap store`
// takes the files whose path contains one of the words.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const words = process.argv.slice(2).filter(word => !word.startsWith('-'))
const flags = process.argv.slice(2).filter(word => word.startsWith('-'))
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'])
  .filter(file => words.length === 0 || words.some(word => file.includes(word)))
  .sort()
if (files.length === 0) {
  console.error(`No test file matches: ${words.join(' ')}`)
  process.exit(1)
}

const env = { ...process.env, NODE_ENV: 'test' }
// The vendors' SDKs read keys, addresses and proxies from the environment; a test names its own.
for (const name of Object.keys(env)) {
  if (/^(OPENAI|ANTHROPIC|GEMINI|GOOGLE|AZURE|TURNWIRE|OTEL)_|^https?_proxy$|^all_proxy$/i.test(name))
    delete env[name]
}
// Programs that tests start would keep their sessions there.
if (env.DATABASE_URL) {
  env.TEST_DATABASE_URL = env.DATABASE_URL
  delete env.DATABASE_URL
}

const run = spawnSync(
  process.execPath,
  // The limit ends a test that hangs. It holds for a whole file too, so it must not depend on how busy the machine is.
  ['--test', `--test-concurrency=${availableParallelism()}`, '--test-timeout=900000', ...flags, ...files],
  { stdio: 'inherit', env },
)
process.exit(run.status ?? 1)
