import { defineEvals } from 'turnwire/testing'

export default defineEvals({
  agent: 'clerk',
  models: ['careful', 'hasty'],
  passMark: 0.5,
  tools: {
    look_up_order: { when: { order: 17 }, returns: 'Order 17 was packed.' },
    refund_order: { returns: 'refunded' },
  },
  cases: [
    {
      name: 'looks before it refunds',
      prompt: 'Refund my order 17, please.',
      expect: {
        calls: [{ tool: 'look_up_order' }, { tool: 'refund_order', input: { order: 17 }, outcome: 'ok' }],
        asks: ['refund_order'],
        answer: /refunded/i,
      },
    },
  ],
})
