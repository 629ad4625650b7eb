// The API reference, made from the types and comments of what package.json exports.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Application } from 'typedoc'
import { content } from './content.mjs'
import { root } from './pages.mjs'

/** By the name under which a program imports it. */
export const modules = {
  turnwire: 'src/index.ts',
  'turnwire/client': 'src/client/index.ts',
  'turnwire/react': 'src/react/index.ts',
  'turnwire/vue': 'src/vue/index.ts',
  'turnwire/testing': 'src/testing/index.ts',
  'turnwire/extend': 'src/extend.ts',
  'turnwire/payments': 'src/client/payments.ts',
}

export async function writeReference() {
  const app = await Application.bootstrapWithPlugins({
    name: 'API',
    entryPoints: Object.values(modules).map(file => join(root, file)),
    tsconfig: join(root, 'site/api.tsconfig.json'),
    plugin: ['typedoc-plugin-markdown'],
    outputs: [{ name: 'markdown', path: join(content, 'api') }],
    readme: 'none',
    entryFileName: 'index.md',
    outputFileStrategy: 'members',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    parametersFormat: 'table',
    propertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    excludePrivate: true,
    excludeInternal: true,
    disableSources: true,
    skipErrorChecking: true,
    validation: false,
    logLevel: 'Error',
  })
  const project = await app.convert()
  if (!project) throw new Error('The API reference could not be made.')
  for (const child of project.children ?? []) {
    const name = Object.entries(modules).find(
      ([, file]) => file === `src/${child.name}.ts` || file === `src/${child.name}/index.ts`,
    )?.[0]
    if (name) child.name = name
  }
  await app.generateOutputs(project)
  const folder = join(content, 'api')
  if (!existsSync(join(folder, 'index.md'))) throw new Error('The API reference was not written.')
  // Pages have no HTML, so the anchors of table rows go.
  for (const file of globSync('**/*.md', { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8')
    writeFileSync(join(folder, file), text.replaceAll(/<a id="[^"]*"><\/a> ?/g, ''))
  }
}
