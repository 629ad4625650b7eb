#!/usr/bin/env node
// The command. In a checkout it runs the TypeScript as it is; in the published package, the build.
const [major] = process.versions.node.split('.').map(Number)
if (major < 24) {
  console.error(`Turnwire needs Node 24 or newer; this is Node ${process.versions.node}.
In a checkout, start it through npm, which brings Node 24 along: npm start, or npm run turnwire -- <command>.`)
  process.exit(1)
}
const { existsSync } = await import('node:fs')
const { enableCompileCache } = await import('node:module')
// Compiled code is kept between starts: the second one takes half the time.
enableCompileCache()
const source = new URL('../src/cli/main.ts', import.meta.url)
const built = new URL('../cli/main.js', import.meta.url)
const { main } = await import(existsSync(source) ? source.href : built.href)
process.exitCode = await main(process.argv.slice(2))
