import { Title } from '@mantine/core';
import { useEffect } from 'react';

/** The heading of a page, and the title of the tab. */
export function PageTitle({ children, about }: { children: string; about: string }) {
  useEffect(() => {
    document.title = `${children} · Portcullis`;
  }, [children]);
  return (
    <header>
      <Title order={1} size="h3">
        {children}
      </Title>
      <p className="quiet" style={{ margin: '0.1rem 0 0' }}>
        {about}
      </p>
    </header>
  );
}
