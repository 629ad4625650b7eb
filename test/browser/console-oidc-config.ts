// A server whose people sign in at the identity provider that the environment names.
import { defineConfig, scripted } from '../../src/index.ts'

const issuer = process.env['TEST_ISSUER'] ?? 'http://127.0.0.1:1'

export default defineConfig({
  agents: [{ name: 'helper', model: scripted({ steps: [{ text: 'Hello.' }], whenOver: 'repeat-last' }) }],
  egress: { privateHosts: [new URL(issuer).host] },
  server: {
    oidc: {
      label: 'Acme',
      issuer,
      clientId: 'console',
      clientSecret: 's',
      operatorRole: 'admin',
      endSession: process.env['TEST_END_SESSION'] === 'yes',
    },
  },
})
