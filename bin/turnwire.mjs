#!/usr/bin/env node
// The command. In a checkout it runs the TypeScript as it is; in the published package, the build.
import { existsSync, readFileSync } from 'node:fs'
import * as modules from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { nodeComplaint } from './supported-node.mjs'

const source = new URL('../src/cli/main.ts', import.meta.url)
const isCheckout = existsSync(source)
const complaint = nodeComplaint(process.versions, isCheckout && carriesNode())
if (complaint !== undefined) {
  console.error(complaint)
  process.exit(1)
}
if (isCheckout && !existsSync(new URL('../node_modules', import.meta.url))) {
  console.error('Nothing is installed in this checkout yet. Run: npm run setup')
  process.exit(1)
}
// Modules stay in memory once they are loaded. A young generation that grew meanwhile would stay large, with nothing in it:
// 11 MB of an idle server. `serve` lets it grow once it listens. Set before the cache is opened, which depends on it.
if (process.argv[2] === 'serve') setFlagsFromString('--semi-space-growth-factor=1')
// Compiled code is kept between starts: the second one takes half the time.
modules.enableCompileCache()
const { main } = await import(isCheckout ? source.href : new URL('../dist/cli/main.js', import.meta.url).href)
const code = await main(process.argv.slice(2))
// A program that a configuration has started must not keep a command alive that is done.
for (const stream of [process.stdout, process.stderr]) await new Promise(done => stream.write('', done))
process.exit(code)

function carriesNode() {
  const { optionalDependencies = {} } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  )
  return Object.hasOwn(optionalDependencies, `node-${process.platform}-${process.arch}`)
}
