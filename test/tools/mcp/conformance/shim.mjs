// What the suite starts as the client, once per scenario. It only hands the scenario to the test's own process, which has the
// client loaded already, and waits for the end.
import { connect } from 'node:net'

const [socket, url] = process.argv.slice(2)
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const link = connect(socket, () => link.write(`${JSON.stringify({ url, scenario, version, context })}\n`))
let answer = ''
link.setEncoding('utf8')
link.on('data', text => {
  answer += text
})
link.on('close', () => {
  process.stderr.write(answer)
  process.exit(answer === '' ? 0 : 1)
})
