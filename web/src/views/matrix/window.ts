/** Which part of a map is in sight: zoom and pan, in cells. */
export interface Window {
  /** First column and row in sight (may be fractions of a cell). */
  x: number;
  y: number;
  /** Columns and rows in sight. */
  width: number;
  height: number;
}

export function whole(columns: number, rows: number): Window {
  return { x: 0, y: 0, width: columns, height: rows };
}

/** Zooms about a point given as shares of the window; never beyond the whole, never closer than 4 cells. */
export function zoomed(window: Window, factor: number, atX: number, atY: number, columns: number, rows: number): Window {
  const most = Math.max(columns, rows);
  const least = Math.min(4, most);
  const scale = Math.max(least / Math.max(window.width, window.height), Math.min(factor, most / Math.max(window.width, window.height)));
  const width = Math.min(columns, window.width * scale);
  const height = Math.min(rows, window.height * scale);
  return inside({ x: window.x + (window.width - width) * atX, y: window.y + (window.height - height) * atY, width, height }, columns, rows);
}

export function inside(window: Window, columns: number, rows: number): Window {
  return {
    ...window,
    x: Math.max(0, Math.min(columns - window.width, window.x)),
    y: Math.max(0, Math.min(rows - window.height, window.y)),
  };
}
