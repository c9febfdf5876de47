import { readFileSync } from 'node:fs';
import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro/content/config';
import type { Loader } from 'astro/loaders';
import type { Site } from '../pages.ts';

/** The pages that `build.ts` wrote. */
const { pages } = JSON.parse(readFileSync(new URL('../.content/site.json', import.meta.url), 'utf8')) as Site;

const documents: Loader = {
  name: 'documents',
  load: async ({ store, parseData, renderMarkdown }) => {
    store.clear();
    for (const { id, title, description, body, contents } of pages) {
      const data = await parseData({
        id,
        data: { title, description, ...(contents ? {} : { tableOfContents: false }) },
      });
      store.set({ id: id === '' ? 'index' : id, data, body, rendered: await renderMarkdown(body) });
    }
  },
};

export const collections = { docs: defineCollection({ schema: docsSchema(), loader: documents }) };
