// Compiles the contracts of the payment tests into compiled.json, which the tests read. It is run by hand when a contract
// has changed: `node test/payments/contracts/build.mjs <folder>`, where the folder holds what `npm pack` gave of
// @openzeppelin/contracts 5.7.0 (unpacked as `oz/package`) and @uniswap/v4-periphery 1.0.3 (as `v4/package`). The token
// is built on OpenZeppelin's ERC-20 and ERC-3009. Permit2 is Uniswap's own bytecode (MIT licence), as its helper
// `DeployPermit2` in the second package carries it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import solc from 'solc'

const [packages = '.'] = process.argv.slice(2)
const here = import.meta.dirname
const read = file => readFileSync(file, 'utf8')

const input = {
  language: 'Solidity',
  sources: Object.fromEntries(
    ['token.sol', 'spenders.sol'].map(name => [name, { content: read(join(here, name)) }]),
  ),
  settings: {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: 'cancun',
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  },
}
const resolve = path => ({
  contents: read(join(packages, 'oz/package', path.replace('@openzeppelin/contracts/', ''))),
})
const output = JSON.parse(solc.compile(JSON.stringify(input), { import: resolve }))
const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error')
if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
const code = (file, name) => output.contracts[file][name].evm
const helper = read(join(packages, 'v4/package/lib/permit2/test/utils/DeployPermit2.sol'))
const compiled = {
  token: `0x${code('token.sol', 'TestDollar').bytecode.object}`,
  terminal: `0x${code('spenders.sol', 'Terminal').bytecode.object}`,
  exactProxy: `0x${code('spenders.sol', 'ExactProxy').deployedBytecode.object}`,
  reads: `0x${code('spenders.sol', 'Reads').deployedBytecode.object}`,
  uptoProxy: `0x${code('spenders.sol', 'UptoProxy').deployedBytecode.object}`,
  permit2: `0x${/hex"([0-9a-f]+)"/.exec(helper)[1]}`,
}
writeFileSync(join(here, 'compiled.json'), `${JSON.stringify(compiled, null, 2)}\n`)
