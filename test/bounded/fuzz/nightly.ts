// `npm run fuzz [requests] [seed]`: the fuzz at length, from a seed of its own, which it prints.
const [, , requests = '20000', seed = String(Math.floor(Date.now() / 1000) % 1_000_000)] = process.argv
process.env['FUZZ_REQUESTS'] ??= requests
process.env['FUZZ_SEED'] ??= seed
process.stdout.write(`FUZZ_REQUESTS=${process.env['FUZZ_REQUESTS']} FUZZ_SEED=${process.env['FUZZ_SEED']}\n`)
await import('../fuzz.test.ts')
