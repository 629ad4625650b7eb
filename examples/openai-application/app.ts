// An application that was written for OpenAI. Nothing in it knows of Turnwire: OPENAI_BASE_URL and OPENAI_API_KEY say where to ask.
import OpenAI from 'openai'

const client = new OpenAI()
const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: 'function',
    name: 'stock_level',
    description: 'How many pieces of an article are in stock.',
    parameters: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
    strict: false,
  },
]
let response = await client.responses.create({
  model: 'helper',
  tools,
  input: 'What is the stock level of "pens"?',
})
for (const item of response.output) {
  if (item.type !== 'function_call') continue
  console.log(`${item.name} ${item.arguments}`)
  const input = [{ type: 'function_call_output' as const, call_id: item.call_id, output: '42 pieces' }]
  response = await client.responses.create({
    model: 'helper',
    tools,
    input,
    previous_response_id: response.id,
  })
}
console.log(response.output_text)
