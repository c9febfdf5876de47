import { createTheme, type CSSVariablesResolver } from '@mantine/core';

/** The look of all components. */
export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 8 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'sm',
  respectReducedMotion: true,
  fontSizes: { md: '0.875rem', sm: '0.8125rem' },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  cursorType: 'pointer',
});

/** Quiet text of the library has too little contrast for WCAG AA. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6a7178',
    '--mantine-color-anchor': '#364fc7',
    '--tone-good': '#1e6b32',
    '--tone-good-back': '#e3f6e8',
    '--tone-warn': '#7a4a00',
    '--tone-warn-back': '#fff1d6',
    '--tone-bad': '#a51111',
    '--tone-bad-back': '#ffe9e9',
    '--tone-plain': '#444b52',
    '--tone-plain-back': '#eceef1',
    '--tone-info': '#2b44b0',
    '--tone-info-back': '#e6ebff',
    '--line': '#dfe3e8',
    '--active-line': '#f3f5f8',
  },
  dark: {
    '--mantine-color-dimmed': '#a5acb5',
    '--mantine-color-placeholder': '#9aa1aa',
    '--mantine-color-anchor': '#a5b8ff',
    '--tone-good': '#8ce0a2',
    '--tone-good-back': '#14361e',
    '--tone-warn': '#ffd08a',
    '--tone-warn-back': '#40300f',
    '--tone-bad': '#ffb0b0',
    '--tone-bad-back': '#471a1a',
    '--tone-plain': '#c9ced4',
    '--tone-plain-back': '#33383e',
    '--tone-info': '#b7c5ff',
    '--tone-info-back': '#232f5e',
    '--line': '#3b4148',
    '--active-line': '#2b3036',
  },
});
