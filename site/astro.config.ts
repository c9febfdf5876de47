import { readFileSync } from 'node:fs';
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import type { Site } from './pages.ts';

/** `build.ts` writes the pages before Astro begins. */
const { address, base, sidebar } = JSON.parse(
  readFileSync(new URL('.content/site.json', import.meta.url), 'utf8'),
) as Site & { readonly address?: string; readonly base: string };

export default defineConfig({
  ...(address === undefined ? {} : { site: new URL(address).origin }),
  base,
  outDir: './dist',
  publicDir: './.content/public',
  cacheDir: './.content/cache',
  // Pictures are used as they are, so no native image library is needed.
  image: { service: passthroughImageService() },
  devToolbar: { enabled: false },
  // npm places other versions of some packages of Astro at the root of the repository. The bundle has the right ones.
  vite: { environments: { prerender: { resolve: { noExternal: true } } } },
  integrations: [
    starlight({
      title: 'Portcullis',
      description: 'A gateway for MCP servers and HTTP apps',
      customCss: ['./theme.css'],
      favicon: '/favicon.svg',
      lastUpdated: false,
      pagination: true,
      // Starlight's own weights put short pages that name the words once before the page about them.
      pagefind: { ranking: { pageLength: 0.75, termFrequency: 1, termSaturation: 1.4, termSimilarity: 1 } },
      credits: false,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      sidebar: structuredClone(sidebar) as never,
    }),
  ],
});
