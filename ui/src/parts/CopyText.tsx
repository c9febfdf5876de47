import { Button, CopyButton } from '@mantine/core';

/** Text in a frame, with a button that copies it. */
export const CopyText = ({ text, label }: { text: string; label: string }) => (
  <div>
    <pre className="lines" tabIndex={0} aria-label={label}>
      {text}
    </pre>
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button variant="default" size="compact-sm" mt={6} onClick={copy} aria-label={`Copy ${label}`}>
          {copied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </CopyButton>
  </div>
);
