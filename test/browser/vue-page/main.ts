// A page with Vue and `useSession`: the conversation, calls that wait for a person, a tool of the page, and a second session to change to.
import { computed, createApp, defineComponent, h, ref, version } from 'vue'
import { AapClient } from '../../../src/client/index.ts'
import { describeActivity, useSession } from '../../../src/vue/index.ts'

const query = new URLSearchParams(location.search)
const client = new AapClient({ baseUrl: query.get('server') ?? '' })

const Chat = defineComponent({
  setup() {
    const id = ref(query.get('session') ?? undefined)
    // biome-ignore lint/correctness/useHookAtTopLevel: a composable of Vue is called in setup.
    const session = useSession(client, id, { tools: { read_cart: () => 'pens, paper' } })
    const said = computed(() =>
      (session.view.value?.items ?? []).flatMap(item =>
        item.type === 'answer' ? [h('p', { key: item.key }, item.text)] : [],
      ),
    )
    const button = (text: string, onClick: () => unknown) => h('button', { onClick }, text)
    return () =>
      h('main', [
        h('h1', `Vue ${version}`),
        h(
          'output',
          session.view.value ? describeActivity(session.view.value).words : session.connection.value,
        ),
        h('p', { role: 'alert' }, session.error.value?.message),
        ...said.value,
        session.approvals.value.map(call =>
          h('section', { key: call.id }, [
            `${call.name} ${call.text}`,
            button('Allow', () => session.decide(call.id, { granted: true, edit: { order: 18 } })),
          ]),
        ),
        button('Read', () => session.send('Read my cart')),
        button('Cancel order', () => session.send('Cancel order 17')),
        button('Other session', () => (id.value = query.get('other') ?? undefined)),
      ])
  },
})

const isShown = ref(true)
createApp(() => [
  h('button', { onClick: () => (isShown.value = false) }, 'Leave'),
  isShown.value ? h(Chat) : null,
]).mount('#root')
