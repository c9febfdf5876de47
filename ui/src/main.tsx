import '@mantine/core/styles.css';
import './styles.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { App } from './App.tsx';
import { nonce } from './nonce.ts';
import { queryClient } from './api/queries.ts';
import { theme, variables } from './theme.ts';

// The lock of scrolling behind a drawer looks for the nonce here (package get-nonce).
Object.assign(globalThis, { __webpack_nonce__: nonce() });

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no element #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Router base="/ui">
          <App />
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
