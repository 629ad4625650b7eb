// Webhooks: programs outside are told that something waits, is over, or may have happened.
export { checkWebhooks, type WebhookConfig, type WebhooksConfig } from './config.ts'
export { courierPoints } from './courier.ts'
export { endpointSecret, WebhookDesk } from './endpoints.ts'
export { startWebhooks, type Webhooks } from './start.ts'
