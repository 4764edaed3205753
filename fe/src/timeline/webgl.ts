/** Draws rectangles with WebGL2: one instanced call per batch, geometry sent once. */
import { DIMMED, GAP_FROM_PX, IDLE_TINT, MIN_WIDTH_PX, type RectBatch, type RectDraw, type RectRenderer, type Rgb } from "./rects";

const VERTEX = `#version 300 es
layout(location=0) in vec2 corner;
layout(location=1) in vec4 rect;
layout(location=2) in vec4 paint;
layout(location=3) in float mark;
uniform vec2 time;
uniform float top;
uniform vec2 screen;
uniform float dimming;
uniform vec3 background;
out vec3 full;
out vec3 idle;
out float down;
flat out float busy;
void main() {
  float left = rect.x * time.x + time.y;
  float right = rect.y * time.x + time.y;
  float width = max(right - left, ${MIN_WIDTH_PX.toFixed(1)});
  if (width > ${GAP_FROM_PX.toFixed(1)} && paint.a > 0.999) width -= 1.0;
  vec2 px = vec2(left + corner.x * width, top + mix(rect.z, rect.w, corner.y));
  gl_Position = vec4(px.x / screen.x * 2.0 - 1.0, 1.0 - px.y / screen.y * 2.0, 0.0, 1.0);
  full = mix(background, paint.rgb, mark > 0.5 ? 1.0 : 1.0 - dimming);
  idle = mix(background, full, ${IDLE_TINT});
  down = corner.y;
  busy = paint.a;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec3 full;
in vec3 idle;
in float down;
flat in float busy;
out vec4 color;
void main() {
  color = vec4(1.0 - down <= busy ? full : idle, 1.0);
}`;

interface BatchBuffers {
  readonly array: WebGLVertexArrayObject;
  readonly coordinates: WebGLBuffer;
  readonly paints: WebGLBuffer;
  readonly marks: WebGLBuffer;
  version: number;
}

/**
 * Null where there is no WebGL2, or where it fails to start.
 *
 * @param allowSoftware Also where the processor does the work of a GPU; a 2D canvas is four times faster there.
 */
export function webglRenderer(canvas: HTMLCanvasElement, allowSoftware: boolean): RectRenderer | null {
  const failIfMajorPerformanceCaveat = !allowSoftware;
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, stencil: false, failIfMajorPerformanceCaveat });
  if (gl === null || (!allowSoftware && isSoftware(gl))) return null;
  const program = link(gl);
  if (program === null) return null;
  return new WebglRects(gl, program);
}

/** Headless browsers and virtual machines draw WebGL on the processor without calling it a caveat. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

function isSoftware(gl: WebGL2RenderingContext): boolean {
  const debugInfo = gl.getExtension("WEBGL_debug_renderer_info");
  const name: unknown = debugInfo === null ? null : gl.getParameter(debugInfo.UNMASKED_RENDERER_WEBGL);
  return typeof name === "string" && SOFTWARE.test(name);
}

function link(gl: WebGL2RenderingContext): WebGLProgram | null {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind);
    if (shader === null) return null;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) === true ? program : null;
}

class WebglRects implements RectRenderer {
  private readonly buffers = new Map<RectBatch, BatchBuffers>();
  private readonly corners: WebGLBuffer;
  private readonly uniforms: Readonly<Record<"time" | "top" | "screen" | "dimming" | "background", WebGLUniformLocation | null>>;
  private height = 0;
  private ratio = 1;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly program: WebGLProgram,
  ) {
    this.corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    const at = (name: string) => gl.getUniformLocation(program, name);
    this.uniforms = { time: at("time"), top: at("top"), screen: at("screen"), dimming: at("dimming"), background: at("background") };
  }

  begin(widthPx: number, heightPx: number, ratio: number, background: Rgb): void {
    const { gl, uniforms } = this;
    const [red, green, blue] = background.map((part) => part / 255) as [number, number, number];
    this.height = heightPx;
    this.ratio = ratio;
    gl.viewport(0, 0, Math.round(widthPx * ratio), Math.round(heightPx * ratio));
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(red, green, blue, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.useProgram(this.program);
    gl.uniform2f(uniforms.screen, widthPx, heightPx);
    gl.uniform3f(uniforms.background, red, green, blue);
  }

  draw({ batch, scalePx, offsetPx, topPx, clip }: RectDraw): void {
    const { gl, uniforms, ratio } = this;
    const left = Math.round(clip.leftPx * ratio);
    const width = Math.round(clip.rightPx * ratio) - left;
    const bottom = Math.round((this.height - Math.min(clip.bottomPx, this.height)) * ratio);
    const height = Math.round((this.height - Math.max(clip.topPx, 0)) * ratio) - bottom;
    if (batch.count === 0 || width <= 0 || height <= 0) return;
    gl.scissor(left, bottom, width, height);
    gl.uniform2f(uniforms.time, scalePx, offsetPx);
    gl.uniform1f(uniforms.top, topPx);
    gl.uniform1f(uniforms.dimming, batch.marks === null ? 0 : 1 - DIMMED);
    gl.bindVertexArray(this.buffersOf(batch).array);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, batch.count);
    gl.bindVertexArray(null);
  }

  line(xPx: number, color: Rgb): void {
    const { gl, ratio } = this;
    const [red, green, blue] = color;
    // Clearing a strip is the cheapest way to fill it.
    gl.scissor(Math.round(xPx * ratio), 0, Math.max(1, Math.round(ratio)), Math.ceil(this.height * ratio));
    gl.clearColor(red / 255, green / 255, blue / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  release(batch: RectBatch): void {
    const buffers = this.buffers.get(batch);
    if (buffers === undefined) return;
    const { gl } = this;
    gl.deleteVertexArray(buffers.array);
    for (const buffer of [buffers.coordinates, buffers.paints, buffers.marks]) gl.deleteBuffer(buffer);
    this.buffers.delete(batch);
  }

  dispose(): void {
    for (const batch of [...this.buffers.keys()]) this.release(batch);
    this.gl.deleteBuffer(this.corners);
    this.gl.deleteProgram(this.program);
  }

  private buffersOf(batch: RectBatch): BatchBuffers {
    const known = this.buffers.get(batch);
    const buffers = known ?? this.create(batch);
    if (buffers.version !== batch.version) this.sendPaints(batch, buffers);
    return buffers;
  }

  private create(batch: RectBatch): BatchBuffers {
    const { gl } = this;
    const buffers: BatchBuffers = {
      array: gl.createVertexArray(),
      coordinates: gl.createBuffer(),
      paints: gl.createBuffer(),
      marks: gl.createBuffer(),
      version: -1,
    };
    gl.bindVertexArray(buffers.array);
    this.attribute(this.corners, 0, 2, gl.FLOAT, false, 0);
    this.attribute(buffers.coordinates, 1, 4, gl.FLOAT, false, 1);
    gl.bufferData(gl.ARRAY_BUFFER, batch.coordinates, gl.STATIC_DRAW);
    this.attribute(buffers.paints, 2, 4, gl.UNSIGNED_BYTE, true, 1);
    this.attribute(buffers.marks, 3, 1, gl.UNSIGNED_BYTE, false, 1);
    gl.bindVertexArray(null);
    this.buffers.set(batch, buffers);
    return buffers;
  }

  private attribute(buffer: WebGLBuffer, location: number, size: number, type: number, normalised: boolean, divisor: number): void {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, size, type, normalised, 0, 0);
    gl.vertexAttribDivisor(location, divisor);
  }

  private sendPaints(batch: RectBatch, buffers: BatchBuffers): void {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.paints);
    gl.bufferData(gl.ARRAY_BUFFER, batch.paints, gl.DYNAMIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.marks);
    gl.bufferData(gl.ARRAY_BUFFER, batch.marks ?? new Uint8Array(batch.count), gl.DYNAMIC_DRAW);
    buffers.version = batch.version;
  }
}
