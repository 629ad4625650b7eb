// Loads the program and the packages that it loads on demand, so that they are compiled into NODE_COMPILE_CACHE. Run before the
// tests: a server that a test kills keeps nothing of what it has compiled, and the next one would compile it again.
import { globSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const files = globSync(['src/{index,extend}.ts', 'src/{testing,client,payments}/index.ts', 'src/cli/main.ts'])
const loaded = globSync(['src/cli/commands/*.ts', 'src/stores/*/index.ts'], { exclude: ['**/*.test.ts'] })
for (const file of [...files, ...loaded]) await import(pathToFileURL(file).href)
for (const name of ['viem', 'viem/accounts', 'viem/chains', '@x402/evm', 'postgres', 'playwright-core', 'ws'])
  await import(name).catch(() => {})
